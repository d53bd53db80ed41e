"""A run's transcript: a file by which anybody can check its score."""

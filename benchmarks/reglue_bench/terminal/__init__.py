"""The terminal: the progress of a run, and its result."""

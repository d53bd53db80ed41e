"""The environment's side of a run: here, in workers, or remote."""

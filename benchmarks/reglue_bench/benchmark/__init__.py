"""Makes the plan of a run from a benchmark's name or file."""

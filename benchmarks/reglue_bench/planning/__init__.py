"""From a benchmark's name or file to the plan of a run."""

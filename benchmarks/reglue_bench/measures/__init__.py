"""Measures, by which runs are judged, and comparisons of runs and of agents."""

"""Measures, by which runs are judged, and comparisons of two runs."""

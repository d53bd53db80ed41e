"""Intervals and comparisons."""

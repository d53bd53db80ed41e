"""Datasets of recorded episodes, in Minari's layout."""

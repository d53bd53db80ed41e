"""Scaling of a run: its coordinator's load, and the gain by nodes of a Ray cluster."""

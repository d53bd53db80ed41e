"""Processes that a glue starts, and how they end."""

"""Environments: the classes to derive from, and how they are checked."""

"""Agents: the class to derive from, and how its routines are called."""

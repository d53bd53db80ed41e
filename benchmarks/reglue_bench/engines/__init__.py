"""Engines play the units of a plan: in this process, or in several."""

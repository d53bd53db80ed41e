"""Environments on other machines, for an agent that stays where the run is."""

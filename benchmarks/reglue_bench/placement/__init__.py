"""Environments on other machines, for an agent that stays where the run is."""

from reglue_bench.placement.placement import Placement

__all__ = ["Placement"]

"""Environments that Reglue brings, made by suites that have names."""

from env_adapters.suite_names import SuiteName
from reglue.environments.world import Cell, Restorable, Step, Suite, World

__all__ = ["Cell", "Restorable", "Step", "Suite", "SuiteName", "World"]

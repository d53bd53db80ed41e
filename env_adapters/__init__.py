"""Environments of many kinds behind one protocol."""

from env_adapters.environment import Cell, Environment, Restorable, Step, Suite, SuiteName

__all__ = ["Cell", "Environment", "Restorable", "Step", "Suite", "SuiteName"]

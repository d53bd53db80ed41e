"""Gymnasium: any environment with an id, exactly restored if it has a StateCodec.

Importing this does not load gymnasium; a suite does, and raises
reglue.errors.MissingExtra where it is not installed.
"""

from env_adapters.gymnasium.gymnasium_suite import Gymnasium, suite_of

__all__ = ["Gymnasium", "suite_of"]

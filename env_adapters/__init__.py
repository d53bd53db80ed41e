"""Environments that Reglue brings, made by suites that have names.

Read in this order: `suite_names` and `suites` (from a name to a suite), `classic` (the smallest
environments), `gymnasium` and `metaworld` (libraries' environments, exact to the bit), `goals` and
`curricula` (environments over others), `determinism` (what an environment must keep).
"""

from env_adapters.suite_names import SuiteName
from reglue.environments.world import Restorable, Step, Suite, World
from reglue.messages.environment_messages import Cell

__all__ = ["Cell", "Restorable", "Step", "Suite", "SuiteName", "World"]

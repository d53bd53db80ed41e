"""The other names of `metaworld.evaluation`: agents' base classes and types."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from reglue.agents.metaworld import Timestep
from reglue.spec import Array
from reglue_bench.metaworld.vector_envs import task_names


class Agent(Protocol):
    """The methods that `evaluation` calls; S is the number of sub-environments."""

    def eval_action(self, observations: Array) -> Array:
        """Actions (S, 4) for observations (S, n)."""
        ...

    def reset(self, env_mask: npt.NDArray[np.bool_]) -> None:
        """Begin new episodes in these sub-environments; (S,)."""
        ...


class MetaLearningAgent(Agent, Protocol):
    """The methods that `metalearning_evaluation` calls."""

    def init(self) -> None:
        """Return to the state before all adaptation."""
        ...

    def adapt_action(self, observations: Array) -> tuple[Array, dict[str, Array]]:
        """Actions (S, 4) while adapting, and the values to pass to `step` with them."""
        ...

    def step(self, timestep: Timestep) -> None:
        """The result of the last `adapt_action`."""
        ...

    def adapt(self) -> None:
        """A round of episodes is over: learn from it."""
        ...


def _get_task_names(envs: Any) -> list[str]:
    """The task of each sub-environment, such as "reach-v3". Raises UsageError."""
    return list(task_names(envs))

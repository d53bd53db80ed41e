"""The other names of `metaworld.evaluation`: what agents derive from and are given."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from reglue.agents.metaworld import Timestep
from reglue.spec import Array
from reglue_bench.metaworld.vector_envs import task_names


class Agent(Protocol):
    """What `evaluation` asks of an agent; S is the number of sub-environments."""

    def eval_action(self, observations: Array) -> Array:
        """Actions (S, 4) for observations (S, n)."""
        ...

    def reset(self, env_mask: npt.NDArray[np.bool_]) -> None:
        """The episodes in these sub-environments begin anew; (S,)."""
        ...


class MetaLearningAgent(Agent, Protocol):
    """What `metalearning_evaluation` asks of an agent."""

    def init(self) -> None:
        """Be as before all adaptation."""
        ...

    def adapt_action(self, observations: Array) -> tuple[Array, dict[str, Array]]:
        """Actions (S, 4) while adapting, and what `step` is to be given with them."""
        ...

    def step(self, timestep: Timestep) -> None:
        """What came of the last `adapt_action`."""
        ...

    def adapt(self) -> None:
        """A round of episodes is over: learn of it."""
        ...


def _get_task_names(envs: Any) -> list[str]:
    """The task of each sub-environment, such as "reach-v3". Raises UsageError."""
    return list(task_names(envs))

"""Any suite as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium

from env_adapters.gymnasium.space_tensors import Tensors
from reglue.environments.world import Cell, Rendered, Suite
from reglue.errors import BadArgument, NotAnEnvironment, UnknownName, brief
from reglue.gymnasium.tensor_spaces import space_of
from reglue.messages.agent import Phase
from reglue.spec import TensorSpec

_SEEDS = 2**63


class SuiteEnv(gymnasium.Env[Any, Any]):
    """Plays the cells that `reset(options={"task": …, "variant": …})` names.

    Without a task the suite's first, without a variant one drawn from `np_random`, as is
    the cell's seed. `info` holds `task`, `variant`, and after steps the flag `success`.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's

    def __init__(self, suite: Suite) -> None:
        self.observation_space = space_of(suite.spec.observations)
        self.action_space = space_of(suite.spec.actions)
        self._suite = suite
        self.world = suite.world()
        self._observations = _named(suite.spec.observations, self.observation_space)
        self._actions = _named(suite.spec.actions, self.action_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the cell's episode. Raises UsageError for an unknown task or variant."""
        super().reset(seed=seed)
        asked = options or {}
        variants = self._suite.variants
        task = asked.get("task", next(iter(variants)))
        if task not in variants:
            raise UnknownName("task", str(task), variants)
        seed_of_cell = int(self.np_random.integers(_SEEDS))
        drawn = int(self.np_random.integers(variants[task]))
        variant = asked.get("variant", drawn)
        if not isinstance(variant, int) or not 0 <= variant < variants[task]:
            raise BadArgument(f"{task}: got variant {variant}, wanted 0 to {variants[task] - 1}")
        cell = Cell(task, variant, seed_of_cell, 0, Phase.TRAIN)
        first = self.world.start(cell)
        return self._observations.value(first), {"task": task, "variant": variant}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step."""
        try:
            chosen = self._actions.arrays(action)
        except NotAnEnvironment as error:
            wanted = f"one of {self.action_space}"
            raise BadArgument(f"got the action {brief(action)}, wanted {wanted}") from error
        step = self.world.step(chosen)
        observation = self._observations.value(step.observation)
        info = {"success": step.success}
        return observation, step.reward, step.terminated, step.truncated, info

    def render(self) -> Any:
        """What the world draws; None if it does not."""
        return self.world.render() if isinstance(self.world, Rendered) else None

    def close(self) -> None:
        """Close the world."""
        self.world.close()


def _named(tensors: tuple[TensorSpec, ...], space: Any) -> Tensors:
    """By the suite's own names."""
    return Tensors(tensors[0].name, space)

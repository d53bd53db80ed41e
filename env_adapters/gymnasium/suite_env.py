"""Makes a Gymnasium environment of any suite."""

from __future__ import annotations

from typing import Any

import gymnasium

from env_adapters.gymnasium.space_tensors import Tensors
from reglue.environments.world import Rendered, Suite, close_suite
from reglue.error_message import brief
from reglue.errors import BadArgument, NotAnEnvironment, UnknownName
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.spaces import space_of
from reglue.spec import TensorSpec

_SEEDS = 2**63


class SuiteEnv(gymnasium.Env[Any, Any]):
    """Plays the cells that `reset(options={"task": …, "variant": …})` names.

    The default task is the suite's first; the default variant is drawn from `np_random`, as is the
    cell's seed. `info` holds `task` and `variant` after a reset, and `success` after a step.
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
        options = options or {}
        variants = self._suite.variants
        task = options.get("task", next(iter(variants)))
        if task not in variants:
            raise UnknownName("task", str(task), variants)
        seed_of_cell = int(self.np_random.integers(_SEEDS))
        default = int(self.np_random.integers(variants[task]))
        variant = options.get("variant", default)
        if not isinstance(variant, int) or not 0 <= variant < variants[task]:
            raise BadArgument(task, got=f"variant {variant}", wanted=f"0 to {variants[task] - 1}")
        cell = Cell(task, variant, seed_of_cell, 0, Phase.TRAIN)
        first = self.world.start(cell)
        return self._observations.value(first), {"task": task, "variant": variant}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        try:
            chosen = self._actions.arrays(action)
        except NotAnEnvironment as error:
            wanted = f"one of {self.action_space}"
            raise BadArgument(got=f"the action {brief(action)}", wanted=wanted) from error
        step = self.world.step(chosen)
        observation = self._observations.value(step.observation)
        info = {"success": step.success}
        return observation, step.reward, step.terminated, step.truncated, info

    def render(self) -> Any:
        return self.world.render() if isinstance(self.world, Rendered) else None

    def close(self) -> None:
        self.world.close()
        close_suite(self._suite)


def _named(tensors: tuple[TensorSpec, ...], space: Any) -> Tensors:
    """The tensors of `space`, by the names in the suite's spec."""
    return Tensors(tensors[0].name, space)

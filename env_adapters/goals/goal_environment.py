"""The interface of goal environments, and goals as the variants of a task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from env_adapters.goals.diagnostics import (
    Rollout,
    get_contextual_diagnostics,
    get_diagnostics,
    goal_conditioned_diagnostics,
)
from reglue.errors import BadArgument, UsageError
from reglue.spec import Array

Observation: TypeAlias = dict[str, Any]
"""Arrays by name, or dicts of arrays if goals have several parts."""

GOAL_KEYS = ("observation", "desired_goal", "achieved_goal")
"""Entries of every observation; `state_observation` and so on may accompany them."""


class GoalEnvironment(gymnasium.Env[Observation, Any]):
    """A Gymnasium environment whose observations are a Dict with a desired and an achieved goal.

    Subclasses implement `reset`, `step`, `get_goal`, `set_goal`, `sample_goals` and `rewards`.
    If `fixed_goal` is set, `reset` and `sample_goals` must return it.
    """

    _fixed: Any = None

    diagnosed: tuple[str, ...] = ()
    """Names in the infos of steps that `get_diagnostics` summarizes."""

    success: str = "is_success"
    """The name of the success flag in the infos of steps; empty if there is none."""

    @property
    def fixed_goal(self) -> Any:
        """The goal of every reset and sample; None: goals are drawn.

        Takes effect at the next reset. Setting it raises UsageError, as `check_goal` does.
        """
        return self._fixed

    @fixed_goal.setter
    def fixed_goal(self, goal: Any) -> None:
        self._fixed = None if goal is None else self.check_goal(goal)

    def check_goal(self, goal: Any) -> Any:
        """A copy of `goal` as a value of its space. Raises UsageError as `set_goal` does."""
        space: Any = self.observation_space
        return read_goal(goal, space["desired_goal"])

    def get_goal(self) -> Observation:
        """The present desired goal, by name. Raises UsageError before the first reset."""
        raise NotImplementedError

    def set_goal(self, goal: Any) -> None:
        """Set the desired goal, until the next reset.

        `goal` is what `get_goal` returns, one row of `sample_goals`, or the array alone.
        Raises UsageError for a goal outside its space, and if the goal cannot be set.
        """
        raise UsageError(f"{self} has no set_goal")

    def sample_goals(self, n: int) -> Observation:
        """`n` goals, drawn from `np_random`: by name as in `get_goal`, shape (n, *shape)."""
        raise NotImplementedError

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """The reward of one achieved goal, or of each row of a batch."""
        raise NotImplementedError

    def check_images(self, size: int) -> None:
        """Raise UsageError, with the reason, if `get_image` cannot draw."""
        raise UsageError(f"{self} draws no images of itself; wanted one that has get_image")

    def get_image(self, size: int, goal: Any = None) -> Array:
        """An image of the present state, or of the state that achieves `goal`.

        Shape (size, size, 3), uint8, without markers of goals. Changes nothing. Raises
        UsageError.
        """
        raise UsageError(f"{self} has no get_image")

    def compute_reward(self, *arguments: Any) -> Any:
        """The reward; the number of arguments selects the convention.

        `(action, observation)`: multiworld's, for one step.
        `(achieved_goal, desired_goal, info)`: Gymnasium's, also for batches.
        """
        match arguments:
            case [action, Mapping() as observation]:
                return self.compute_rewards(_batch_of_one(action), _batch_of_one(observation))[0]
            case _:
                return self.compute_rewards(*arguments)

    def compute_rewards(self, *arguments: Any) -> Any:
        """The rewards of a batch (n, …), by either convention; see `compute_reward`.

        Reads `state_achieved_goal` and `state_desired_goal` of an observation if it has them.
        Raises UsageError.
        """
        match arguments:
            case [_, Mapping() as batch]:
                return self.rewards(
                    _state(batch, "achieved_goal"), _state(batch, "desired_goal"), {}
                )
            case [achieved, desired, info]:
                return self.rewards(achieved, desired, info)
            case _:
                raise BadArgument(
                    got=f"{len(arguments)} arguments",
                    wanted="(action, observation) or (achieved_goal, desired_goal, info)",
                )

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """Whether an episode terminates when this goal is achieved; False by default."""
        return False

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """Whether an episode is truncated when this goal is achieved; False by default."""
        return False

    def get_diagnostics(
        self, rollouts: Sequence[Rollout], prefix: str = ""
    ) -> OrderedDict[str, Any]:
        """Mean, Std, Max and Min of each name in `diagnosed`, over all steps and last steps.

        `prefix` comes before each name.
        """
        return get_diagnostics(rollouts, self.diagnosed, prefix)

    def get_contextual_diagnostics(
        self, rollouts: Sequence[Rollout], contexts: Sequence[Mapping[str, Any]]
    ) -> OrderedDict[str, Any]:
        """Distances of states to the goal of each rollout's context."""
        return get_contextual_diagnostics(rollouts, contexts)

    def goal_conditioned_diagnostics(
        self, rollouts: Sequence[Rollout], goals: Sequence[Any] | Array | None = None
    ) -> OrderedDict[str, Any]:
        """Statistics of `diagnosed` and success, over all steps, the last and the first.

        `goals` may be one for each rollout, as multiworld passes them; the infos hold the distances
        to them already. Raises BadArgument for another number of goals.
        """
        if goals is not None and len(goals) != len(rollouts):
            raise BadArgument(got=f"{len(goals)} goals", wanted=f"one for each of {len(rollouts)}")
        names = [name for name in dict.fromkeys((*self.diagnosed, self.success)) if name]
        return goal_conditioned_diagnostics(rollouts, names)


def read_goal(goal: Any, space: Any) -> Array:
    """A copy of `goal`, or of the desired goal that it contains, as a value of a Box.

    Raises UsageError if it is not a value of the Box.
    """
    if isinstance(goal, Mapping):
        goal = _state(goal, "desired_goal")
    try:
        value = np.array(goal, space.dtype)
    except (TypeError, ValueError) as error:
        raise BadArgument(got=f"the goal {goal!r}", wanted=f"one of {space}") from error
    if value.shape != space.shape or not np.isfinite(value).all() or not space.contains(value):
        raise BadArgument(got=f"the goal {value.tolist()}", wanted=f"one of {space}")
    return value


def _state(observation: Mapping[str, Any], name: str) -> Any:
    for key in (f"state_{name}", name):
        if key in observation:
            return observation[key]
    raise BadArgument(got=sorted(observation), wanted=f"state_{name} or {name} among them")


def _batch_of_one(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _batch_of_one(inner) for name, inner in value.items()}
    return np.asarray(value)[None]


class Forwarding(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper that looks up missing attributes in the environment that it wraps."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return self.env.get_wrapper_attr(name)


class GoalMethods(Forwarding, RecordConstructorArgs):
    """Makes `compute_reward` and other goal methods visible through Gymnasium's own wrappers.

    It changes nothing else. `gymnasium.make` adds it to environments registered with it.
    """

    changes_nothing = True  # so that an environment in it can be saved in mid-episode

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)


def goal_environment_in(env: Any) -> GoalEnvironment:
    """The outermost goal environment in `env`. Raises LookupError if there is none."""
    while not isinstance(env, GoalEnvironment):
        if env is env.unwrapped:
            raise LookupError(f"{env} wraps no goal environment")
        env = env.env
    return env


class GoalVariants:
    """`number` goals of an environment, drawn once from a seed."""

    def __init__(self, env: Any, number: int, seed: int) -> None:
        """`env` is or wraps a GoalEnvironment; it is reset.

        Raises UsageError if it has no set_goal, or a fixed goal.
        """
        if seed >= 2**128:
            raise BadArgument(got=f"goal_seed {seed}", wanted="0 to 2**128 - 1")
        # Like Rng(seed), but with the whole 128-bit key: nobody can find hidden goals by trying
        # seeds.
        bits = np.random.Philox(key=seed, counter=2**256 - 1)
        env.unwrapped.np_random = np.random.Generator(bits)
        env.reset()
        goals = goal_environment_in(env)
        if goals.fixed_goal is not None:
            raise BadArgument(got=f"{number} goals and a fixed_goal", wanted="one of the two")
        self._goals = [goals.check_goal(goal) for goal in _rows(goals, number)]

    def __len__(self) -> int:
        return len(self._goals)

    def aim(self, env: Any, variant: int) -> None:
        """Make the goal of `variant` that of the next reset."""
        goal_environment_in(env).fixed_goal = self._goals[variant]


def _rows(goals: GoalEnvironment, number: int) -> Any:
    sampled = goals.sample_goals(number)
    return sampled.get("state_desired_goal", sampled["desired_goal"])

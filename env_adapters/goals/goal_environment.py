"""What goal environments have in common."""

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
from reglue.errors import UsageError
from reglue.spec import Array

Observation: TypeAlias = dict[str, Any]
"""By name: an array each, or a dict of arrays where goals are of several parts."""

PLAIN = ("observation", "desired_goal", "achieved_goal")
"""What every observation has; `state_observation` and the like stand beside them."""


class GoalEnvironment(gymnasium.Env[Observation, Any]):
    """A Gymnasium environment whose observations are a Dict with a desired and an achieved goal.

    Derive from it and write `reset`, `step`, `get_goal`, `set_goal`, `sample_goals` and
    `rewards`. Where `fixed_goal` is set, `reset` and `sample_goals` are to give it.
    """

    _fixed: Any = None

    diagnosed: tuple[str, ...] = ()
    """Names in the infos of steps that `get_diagnostics` sums up."""

    success: str = "is_success"
    """The name of the flag in the infos of steps; empty where there is none."""

    @property
    def fixed_goal(self) -> Any:
        """The goal of every reset and of every sample; None draws them.

        Setting it raises UsageError for what `check_goal` refuses; it counts from the next
        reset on.
        """
        return self._fixed

    @fixed_goal.setter
    def fixed_goal(self, goal: Any) -> None:
        self._fixed = None if goal is None else self.check_goal(goal)

    def check_goal(self, goal: Any) -> Any:
        """`goal` as a value of its space, a copy. Raises UsageError, as `set_goal` does."""
        space: Any = self.observation_space
        return read_goal(goal, space["desired_goal"])

    def get_goal(self) -> Observation:
        """The desired goal by name, as the environment has it now. Raises UsageError."""
        raise NotImplementedError

    def set_goal(self, goal: Any) -> None:
        """Want another goal, until the next reset.

        `goal` is what `get_goal` gives, one row of `sample_goals`, or the array alone.
        Raises UsageError for a goal outside its space, and where none can be set.
        """
        raise UsageError(f"{self} has no set_goal")

    def sample_goals(self, n: int) -> Observation:
        """`n` goals, drawn from `np_random`: by name as in `get_goal`, shape (n, *shape)."""
        raise NotImplementedError

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """The reward of one achieved goal, or of each row of a batch."""
        raise NotImplementedError

    def check_images(self, size: int) -> None:
        """Raise UsageError where `get_image` cannot draw, and say why."""
        raise UsageError(f"{self} draws no images of itself; wanted one that has get_image")

    def get_image(self, size: int, goal: Any = None) -> Array:
        """How it looks now, or would look had it achieved `goal`; nothing changes by it.

        Shape (size, size, 3), uint8; markers of goals are not in the picture. Raises
        UsageError.
        """
        raise UsageError(f"{self} has no get_image")

    def compute_reward(self, *given: Any) -> Any:
        """The reward by either convention, told apart by the number of arguments.

        `(action, observation)`: multiworld's; of a batch of one.
        `(achieved_goal, desired_goal, info)`: Gymnasium's; also of batches.
        """
        match given:
            case [action, Mapping() as observation]:
                return self.compute_rewards(_batch_of_one(action), _batch_of_one(observation))[0]
            case _:
                return self.compute_rewards(*given)

    def compute_rewards(self, *given: Any) -> Any:
        """The rewards of a batch (n, …), by either convention; see `compute_reward`.

        Of an observation, `state_achieved_goal` and `state_desired_goal` are read where
        they are there. Raises UsageError.
        """
        match given:
            case [_, Mapping() as batch]:
                return self.rewards(
                    _state(batch, "achieved_goal"), _state(batch, "desired_goal"), {}
                )
            case [achieved, desired, info]:
                return self.rewards(achieved, desired, info)
            case _:
                raise UsageError(
                    f"got {len(given)} arguments, wanted (action, observation) or "
                    "(achieved_goal, desired_goal, info)"
                )

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """Whether an episode ends with this goal achieved: not by default."""
        return False

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """Whether an episode is cut off with this goal achieved: not by default."""
        return False

    def get_diagnostics(
        self, rollouts: Sequence[Rollout], prefix: str = ""
    ) -> OrderedDict[str, Any]:
        """Mean, Std, Max and Min of what is `diagnosed`, and of its last values.

        `prefix` comes before each name.
        """
        return get_diagnostics(rollouts, self.diagnosed, prefix)

    def get_contextual_diagnostics(
        self, rollouts: Sequence[Rollout], contexts: Sequence[Mapping[str, Any]]
    ) -> OrderedDict[str, Any]:
        """Distances of states to the goal in each rollout's context."""
        return get_contextual_diagnostics(rollouts, contexts)

    def goal_conditioned_diagnostics(self, rollouts: Sequence[Rollout]) -> OrderedDict[str, Any]:
        """What is `diagnosed`, and success, over all steps, at the last and at the first."""
        names = [name for name in dict.fromkeys((*self.diagnosed, self.success)) if name]
        return goal_conditioned_diagnostics(rollouts, names)


def read_goal(goal: Any, space: Any) -> Array:
    """`goal`, or what it holds by the name of a desired goal, as a value of a Box; a copy.

    Raises UsageError for what is none.
    """
    if isinstance(goal, Mapping):
        goal = _state(goal, "desired_goal")
    try:
        value = np.array(goal, space.dtype)
    except (TypeError, ValueError) as error:
        raise UsageError(f"got the goal {goal!r}, wanted one of {space}") from error
    if value.shape != space.shape or not np.isfinite(value).all() or not space.contains(value):
        raise UsageError(f"got the goal {value.tolist()}, wanted one of {space}")
    return value


def _state(observation: Mapping[str, Any], name: str) -> Any:
    for key in (f"state_{name}", name):
        if key in observation:
            return observation[key]
    raise UsageError(f"got {sorted(observation)}, wanted state_{name} or {name} among them")


def _batch_of_one(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _batch_of_one(inner) for name, inner in value.items()}
    return np.asarray(value)[None]


class Forwarding(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What it does not have itself is looked for in what it wraps."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return self.env.get_wrapper_attr(name)


class GoalMethods(Forwarding, RecordConstructorArgs):
    """Changes nothing; it lets `compute_reward` and the like through Gymnasium's own wrappers.

    `gymnasium.make` puts it around what is registered with it.
    """

    changes_nothing = True  # so that what it wraps can be kept in mid-episode

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap `env`."""
        RecordConstructorArgs.__init__(self)
        super().__init__(env)


def found_in(env: Any) -> GoalEnvironment:
    """The outermost goal environment of `env` and what it wraps. Raises LookupError."""
    while not isinstance(env, GoalEnvironment):
        if env is env.unwrapped:
            raise LookupError(f"{env} wraps no goal environment")
        env = env.env
    return env


class GoalVariants:
    """`number` goals of an environment, drawn once: the same for the same seed everywhere."""

    def __init__(self, env: Any, number: int, seed: int) -> None:
        """`env` is or wraps a GoalEnvironment; it is reset. Raises UsageError if it has no
        set_goal, or a goal that is fixed.
        """
        if seed >= 2**128:
            raise UsageError(f"got goal_seed {seed}, wanted 0 to 2**128 - 1")
        # As Chance(seed), but with all of Philox's key: what is hidden must not be guessed.
        bits = np.random.Philox(key=seed, counter=2**256 - 1)
        env.unwrapped.np_random = np.random.Generator(bits)
        env.reset()
        goals = found_in(env)
        if goals.fixed_goal is not None:
            raise UsageError(f"got {number} goals and a fixed_goal, wanted one of the two")
        self._goals = [goals.check_goal(goal) for goal in _rows(goals, number)]

    def __len__(self) -> int:
        return len(self._goals)

    def aim(self, env: Any, variant: int) -> None:
        """Have the next reset's goal be that of `variant`."""
        found_in(env).fixed_goal = self._goals[variant]


def _rows(goals: GoalEnvironment, number: int) -> Any:
    drawn = goals.sample_goals(number)
    return drawn.get("state_desired_goal", drawn["desired_goal"])

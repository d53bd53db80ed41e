"""Gymnasium's environments as suites."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from env_adapters import gymnasium_library
from env_adapters.argument_checks import RENDER_KEYWORDS, check_integer
from env_adapters.gymnasium.gymnasium_world import ExactWorld, Goals, GymnasiumWorld
from env_adapters.gymnasium.space_tensors import Tensors
from env_adapters.gymnasium.state_codec import state_codec
from env_adapters.gymnasium.task_spec import horizon_of, reward_range, tells_success
from env_adapters.gymnasium_library import gymnasium
from reglue.errors import BadArgument, NotAnEnvironment, UsageError
from reglue.signatures import parameters_of, takes
from reglue.spec import TaskSpec
from reglue.tools.loading import check_arguments


class OneEnvironment:
    """Makes worlds that play one environment, the suite's only task; a variant is a goal.

    Environments with a StateCodec (classic control, MuJoCo v4 and v5, toy text, and those with
    `get_inside` and `set_inside`) are Restorable and Seeded, and draw from the cell's generator
    alone; they get Box actions as they are. All others are neither: their resets are seeded
    from the cell, and Box actions are clipped.
    """

    def __init__(
        self,
        task: str,
        make: Callable[[], Any],
        options: Mapping[str, Any],
        *,
        goals: int = 0,
        goal_seed: int = 0,
        sees: str | Sequence[str] | None = None,
    ) -> None:
        """`options` are what the environment is made with; saved states contain them.

        `goals` are drawn once, from `goal_seed`, and are the task's variants; 0: one variant,
        whose episodes draw their own goals. `sees` names the tensors that agents see (default:
        all); a goal that is not among them is hidden.

        Raises UsageError if a space has no tensors, or the environment has no goals to set.
        """
        check_integer("goals", goals, 0)
        check_integer("goal_seed", goal_seed, 0)
        self._task, self._options = task, dict(options)
        self._make = make if goals == 0 else _with_goals(make)
        env = self._make()
        _check_env(env)
        _check_reward(task, env)
        self._goals: Goals | None = None
        if goals:
            self._options.update(goals=goals, goal_seed=goal_seed)
            self._goals = _goal_variants(env, goals, goal_seed)
        self._observations = Tensors("observation", env.observation_space)
        if sees is not None:
            self._observations = self._observations.only(_names(sees))
        self._actions = Tensors("action", env.action_space)
        self._spec = TaskSpec(
            observations=self._observations.specs,
            actions=self._actions.specs,
            reward_range=reward_range(env),
            horizon=horizon_of(env),
        )
        self._tells_success = tells_success(env)
        self._codec = state_codec(env)
        self._full_id = str(env.spec.id) if env.spec else task  # with the version
        self._spare: Any = env  # for the first world

    @property
    def spec(self) -> TaskSpec:
        return self._spec

    @property
    def variants(self) -> Mapping[str, int]:
        """The only task, with a variant for each goal."""
        return {self._task: 1 if self._goals is None else len(self._goals)}

    @property
    def tells_success(self) -> bool:
        return self._tells_success

    @property
    def raw_actions(self) -> bool:
        """True: worlds clip actions themselves, or pass them on as Gymnasium does."""
        return True

    @property
    def standardizes(self) -> bool:
        """True if episodes are known to draw from `np_random` alone."""
        return self._codec is not None

    def world(self) -> GymnasiumWorld:
        tensors = (self._observations, self._actions)
        if self._codec is None:
            return GymnasiumWorld(self._task, self._take, *tensors, goals=self._goals)
        return ExactWorld(
            self._task,
            self._take,
            *tensors,
            horizon=self._spec.horizon,
            codec=self._codec,
            mark=self._mark(),
            goals=self._goals,
        )

    def close(self) -> None:
        """Close the environment that told the spaces, if no world took it."""
        env, self._spare = self._spare, None
        if env is not None:
            env.close()

    def _take(self) -> Any:
        env, self._spare = self._spare, None
        return env if env is not None else self._make()

    def _mark(self) -> Mapping[str, str]:
        """Properties that a saved state and the world that restores it must share."""
        return {
            "id": self._full_id,
            # Options that are not JSON come from this process; use their repr.
            "options": json.dumps(self._options, sort_keys=True, default=repr),
            "gymnasium": gymnasium().__version__,
            "numpy": np.__version__,
        }


class Gymnasium(OneEnvironment):
    """The environment with an id; the task is called by it.

    `options` are keywords of `gymnasium.make`: the environment's own, and
    `max_episode_steps` (-1 for no limit). Observation and action are one tensor each,
    `observation` and `action`, or those of their Dict or Tuple, see `Tensors`. For `goals`,
    `goal_seed` and `sees` see OneEnvironment.

    Raises UnknownName; MissingExtra; CannotLoad where Gymnasium cannot make it;
    UsageError where a space has no tensors, or the environment no goals to set.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - Gymnasium's word
        *,
        goals: int = 0,
        goal_seed: int = 0,
        sees: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        chosen: dict[str, Any] = {"goals": goals, "goal_seed": goal_seed, "sees": sees}
        super().__init__(id, lambda: make(id, options), options, **chosen)

    @staticmethod
    def rendering(config: Mapping[str, Any]) -> Mapping[str, Any]:
        """The config of a suite whose worlds render pictures."""
        return {**RENDER_KEYWORDS, **config}


def _names(sees: str | Sequence[str]) -> list[str]:
    names = [sees] if isinstance(sees, str) else sees
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return list(names)
    raise BadArgument(got=f"sees {sees!r}", wanted="a tensor's name, or a list of names")


def _check_env(env: Any) -> None:
    """Raise NotAnEnvironment if an environment or its wrappers lack something, or are too old."""
    for name in ("observation_space", "action_space"):
        if getattr(env, name, None) is None:
            raise NotAnEnvironment(f"the environment {type(env.unwrapped).__name__} lacks {name}")
    env = env.env if isinstance(env, _NeverClosed) else env
    keywords: dict[str, Any] = {"seed": 0}
    while takes(env.reset, **keywords):
        if env is env.unwrapped or not type(env).__module__.startswith("gymnasium."):
            return
        env, keywords = env.env, {"seed": 0, "options": None}  # as Gymnasium's wrappers call it
    name = getattr(env.reset, "__qualname__", "reset")
    wanted = "reset(*, seed=None, options=None), as Gymnasium has it since 0.26"
    raise NotAnEnvironment(got=f"{name}{parameters_of(env.reset)}", wanted=wanted)


def _check_reward(task: str, env: Any) -> None:
    """Raise BadArgument for vectors of rewards.

    MO-Gymnasium's environments, and Point2D, declare them in the attribute `reward_space`.
    """
    space = getattr(env.unwrapped, "reward_space", None)
    if space is not None and space.shape != ():
        raise BadArgument(f"{task} has rewards of {space.shape} numbers, wanted one: {space}")


def _with_goals(make: Callable[[], Any]) -> Callable[[], Any]:
    from env_adapters.goals import goal_environment  # loads gymnasium

    return lambda: goal_environment(make())


def _goal_variants(env: Any, goals: int, seed: int) -> Goals:
    from env_adapters.goals.goal_environment import GoalVariants  # as above

    return GoalVariants(env, goals, seed)


def suite_of(
    candidate: object, arguments: Mapping[str, Any] | None = None
) -> OneEnvironment | None:
    """The suite that plays a `gymnasium.Env`, a class or an object; None for anything else.

    Its only task is called by the environment's id, or else by its class. A class, made
    with `arguments`, plays in any number of slots. An object plays in one, and stays open.

    >>> import gymnasium
    >>> suite = suite_of(gymnasium.make("CartPole-v1"))
    >>> dict(suite.variants), suite.spec.actions[0].domain
    ({'CartPole-v1': 1}, Discrete(n=2, start=0))

    Raises CannotLoad for arguments that the class does not take, and UsageError if a space has no
    tensors.
    """
    if isinstance(candidate, _env_class()):
        return _ObjectSuite(candidate)
    if isinstance(candidate, type) and issubclass(candidate, _env_class()):
        check_arguments(candidate.__name__, candidate, arguments or {})
        suite: OneEnvironment = make_suite(candidate, arguments or {})
        return suite
    return None


def make_suite(make: Callable[..., Any], config: Mapping[str, Any]) -> Any:
    """Call `make` with `config`. A `gymnasium.Env` becomes a suite; anything else is returned, also
    a `VectorEnv` that is an Env, too, as EnvPool's are.
    """
    first = [made := make(**config)]
    if not isinstance(made, _env_class()) or isinstance(made, vector_class()):
        return made

    def another() -> Any:
        if first:
            return first.pop()
        if (again := make(**config)) is made:
            raise UsageError(
                got=f"the same {type(made).__name__} from two calls", wanted="a new one from each"
            )
        return again

    return OneEnvironment(_name(made), another, config)


class _ObjectSuite(OneEnvironment):
    """Plays one environment object, in one slot."""

    max_slots = 1

    def __init__(self, env: Any) -> None:
        super().__init__(_name(env), lambda: _NeverClosed(env), {})


class _NeverClosed:
    """Wraps an environment that only its owner closes: `close` does nothing here."""

    changes_nothing = True

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def close(self) -> None:
        """Do nothing: the owner closes it."""


def _env_class() -> Any:
    """`gymnasium.Env`; a class without instances if the package was never loaded."""
    return getattr(sys.modules.get("gymnasium"), "Env", ())


def vector_class() -> Any:
    """`gymnasium.vector.VectorEnv`; a class without instances if it was never loaded."""
    return getattr(sys.modules.get("gymnasium.vector"), "VectorEnv", ())


def _name(env: Any) -> str:
    return str(env.spec.id) if env.spec else type(env.unwrapped).__name__


def make(name: str, options: Mapping[str, Any]) -> Any:
    """As `env_adapters.gymnasium_library.make`; environments of gymnasium-robotics take the keyword
    `fixed_goal` too.
    """
    return gymnasium_library.make(name, options, fix_goal=_fix_goal)


def _fix_goal(env: Any, goal: Any) -> Any:
    from env_adapters.goals import goal_environment  # loads gymnasium

    return goal_environment(env, fixed_goal=goal)

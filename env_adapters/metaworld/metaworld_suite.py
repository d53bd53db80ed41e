"""Meta-World as a suite of environments, built from JSON."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from env_adapters.metaworld.cameras import Cameras, camera_view
from env_adapters.metaworld.library import metaworld, mujoco, version
from env_adapters.metaworld.metaworld_world import (
    ACTION,
    MetaWorldWorld,
    Observations,
    SuiteSettings,
)
from env_adapters.metaworld.simulator import MAX_HORIZON, SimulatorPool
from env_adapters.metaworld.task_sets import check_task
from reglue.errors import BadArgument
from reglue.spec import Box, TaskSpec, TensorSpec

_FEW_TASKS = 10  # whose models take 240 MB; of more tasks perhaps only some are played


class MetaWorld:
    """Makes environments that play `goals`; they share simulators. For one thread.

    `goals` holds the goal vectors of each task's variants (see draw_goals), in
    one-hot order: keep the order when it passes through JSON. The rest are
    Meta-World's options by their meaning there: `goal_visible` for multi-task,
    hidden (zeros) for meta-learning; `one_hot` appends the task's one-hot vector (use_one_hot);
    `recurrent_info` appends action, reward / 10 and end flag (recurrent_info_in_obs);
    `horizon` is 1 to 500 (max_episode_steps). `reveal_tasks` adds a tensor `task`, an
    index into ALL_TASKS: for baselines that need not find out which task they play.
    `instruction` adds a sentence that says what to do (see `instructions`), `camera` a picture
    `image`, of `camera_size` (width, height) or "WIDTHxHEIGHT", and `camera_depth` its `depth`.

    Raises UsageError for an illegal config, if MuJoCo cannot load the library that MUJOCO_GL
    names, and if there is a camera and MuJoCo cannot draw. The metaworld package is loaded with the
    first world; without it that raises MissingExtra.
    """

    def __init__(  # noqa: PLR0913 - Meta-World's options
        self,
        *,
        goals: Mapping[str, Sequence[Sequence[float]]],
        goal_visible: bool,
        one_hot: bool = False,
        recurrent_info: bool = False,
        horizon: int = MAX_HORIZON,
        observation_dtype: Literal["float64", "float32"] = "float64",
        reveal_tasks: bool = False,
        instruction: bool = False,
        camera: str | None = None,
        camera_size: str | Sequence[int] | None = None,
        camera_depth: bool = False,
    ) -> None:
        _check_goals(goals)
        if type(horizon) is not int or not 1 <= horizon <= MAX_HORIZON:
            raise BadArgument(got=f"horizon {horizon!r}", wanted=f"1 to {MAX_HORIZON} steps")
        if observation_dtype not in ("float64", "float32"):
            raise BadArgument(got=f"dtype {observation_dtype!r}", wanted="float64 or float32")
        observations = Observations(
            tuple(goals),
            one_hot,
            recurrent_info,
            observation_dtype,
            reveal_tasks,
            instruction,
            camera_view(camera, camera_size, depth=camera_depth),
        )
        if "MUJOCO_GL" in os.environ:  # MuJoCo loads what that names, which may not be there
            mujoco()
        self._settings = SuiteSettings(goals, goal_visible, horizon, observations)
        self._pool = SimulatorPool()
        self._cameras: Cameras | None = None
        if observations.view is not None:  # fails before anything is played
            self._take_cameras()
        # Tasks whose models the first world reads.
        self._unread = [*goals] if len(goals) <= _FEW_TASKS else []

    @property
    def spec(self) -> TaskSpec:
        """The agent's spec; tasks and goals change only its sizes."""
        return TaskSpec(
            observations=self._settings.observations.specs(),
            actions=(TensorSpec("action", "float32", (ACTION,), Box((-1.0,), (1.0,))),),
            reward_range=(0.0, 10.0),  # evaluate_state's docstring; so are all 50 formulas
            horizon=self._settings.horizon,
            rewards_in_evaluation=False,  # upstream's evaluation passes observations only
        )

    @property
    def variants(self) -> Mapping[str, int]:
        """The number of goals of each task."""
        return {task: len(goals) for task, goals in self._settings.goals.items()}

    @property
    def raw_actions(self) -> bool:
        """True: Meta-World's arithmetic with actions outside the Box decides the last bits."""
        return True

    @property
    def standardizes(self) -> bool:
        """True: once the goal is set, nothing in the 50 tasks draws a random number."""
        return True

    def world(self) -> MetaWorldWorld:
        """A world for one more slot. Raises MissingExtra.

        The first call loads the models of up to 10 tasks, so that no episode waits for them.
        """
        metaworld("env_dict")
        while self._unread:
            self._pool.give_back(self._pool.take(self._unread.pop()))
        return MetaWorldWorld(self._settings, self._pool, self._mark, self._take_cameras)

    def close(self) -> None:
        """Free the graphics memory."""
        if self._cameras is not None:
            self._cameras.close()
            self._cameras = None

    def _take_cameras(self) -> Cameras:
        if self._cameras is None:
            self._cameras = Cameras()
        return self._cameras

    @cached_property
    def _mark(self) -> str:
        """A digest of config and versions; a state is restored only where it is equal."""
        settings = self._settings
        goals = [[task, [list(goal) for goal in goals]] for task, goals in settings.goals.items()]
        views = repr(settings.observations)
        versions = [version(package) for package in ("metaworld", "mujoco")]
        text = json.dumps([goals, settings.goal_visible, settings.horizon, views, versions])
        return hashlib.sha256(text.encode()).hexdigest()


def _check_goals(goals: Mapping[str, Sequence[Sequence[float]]]) -> None:
    if not goals:
        raise BadArgument(got="no goals", wanted="at least one task")
    for task, variants in goals.items():
        check_task(task)
        if not variants:
            raise BadArgument(task, got="no variants", wanted="at least one goal")
        for goal in variants:
            # 3 numbers, or 6 where an object's place is drawn too.
            if len(goal) not in (3, 6) or not all(math.isfinite(each) for each in goal):
                raise BadArgument(task, got=f"the goal {goal}", wanted="3 or 6 finite numbers")

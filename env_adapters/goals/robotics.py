"""The environments of gymnasium-robotics as goal environments.

Source of attributes and names: gymnasium-robotics 1.4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from env_adapters.argument_checks import check_integer
from env_adapters.goals.goal_environment import (
    GOAL_KEYS,
    Forwarding,
    GoalEnvironment,
    Observation,
    goal_environment_in,
)
from env_adapters.goals.goal_renderer import GoalRenderer
from env_adapters.gymnasium_library import make, mujoco
from env_adapters.mujoco import IntegrationState
from reglue.errors import BadArgument, UsageError
from reglue.spec import Array

_DOWN = (1.0, 0.0, 1.0, 0.0)
"""The orientation of Fetch's gripper, a quaternion."""


class Family:
    """Fetch and Hand: the goal is the attribute `goal`, drawn by `_sample_goal`."""

    success = "is_success"
    """The name of the success flag in the infos of steps; empty if there is none."""

    fixed_because = ""
    """The reason why goals cannot be set; empty if they can."""

    unseen_because = ""
    """The reason why a goal cannot be drawn; empty if it can."""

    def __init__(self, env: Any) -> None:
        """`env` is unwrapped."""
        self.env = env

    @property
    def data(self) -> Any:
        """The MjData of the running episode."""
        return self.env.data

    @property
    def model(self) -> Any:
        """The MjModel."""
        return self.env.model

    @property
    def camera(self) -> Mapping[str, Any]:
        """Attributes of Gymnasium's free camera that differ from the default."""
        camera_config: Mapping[str, Any] = self.env.mujoco_renderer.default_cam_config or {}
        return camera_config

    @contextmanager
    def starting(self, goal: Array) -> Iterator[None]:
        """Used around a reset whose episode has the fixed goal `goal`."""
        yield

    def get(self) -> Any:
        """A copy of the goal. Raises UsageError before the first reset."""
        goal = np.array(getattr(self.env, "goal", ()), np.float64).ravel()
        if not goal.size:
            raise UsageError("there is no goal yet; call reset first")
        return goal

    def set(self, goal: Array) -> None:
        """Set the goal."""
        self.env.goal = goal.copy()

    def draw(self) -> Array:
        """A goal from `np_random`."""
        goal: Array = self.env._sample_goal().ravel()
        return goal

    def copied(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The observation, with copies of arrays that the environment changes later."""
        return observation

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """The reward of a pair of goals, or of each row of a batch."""
        return self.env.compute_reward(achieved, desired, info)

    def arrange(self, data: Any, goal: Array | None) -> None:
        """Change `data`, a copy, so that it achieves `goal`; nothing changes for None."""

    def _place(self, data: Any, joint: str, values: Array) -> None:
        """Set the first entries of a free joint's position, and its velocity to 0."""
        data.joint(joint).qpos[: len(values)] = values
        data.joint(joint).qvel[:] = 0


class _Fetch(Family):
    """The goal is a position for the object or, without one, for the gripper: (3,) metres."""

    def arrange(self, data: Any, goal: Array | None) -> None:
        if goal is None:
            return
        if self.env.has_object:
            self._place(data, "object0:joint", goal)
        else:
            self._reach(data, goal)

    def _reach(self, data: Any, goal: Array) -> None:
        """Move the mocap body that the gripper follows, and let the gripper settle."""
        for _ in range(20):
            hand = data.body("robot0:gripper_link").xpos
            data.mocap_pos[0] = hand + goal - data.site("robot0:grip").xpos
            data.mocap_quat[0] = _DOWN
            mujoco().mj_step(self.model, data, nstep=self.env.n_substeps)


class _HandReach(Family):
    unseen_because = (
        "it is a position for each of five fingertips, and no pose of the hand is known for it"
    )


class _HandManipulate(Family):
    """The goal is the object's pose: place and quaternion."""

    def arrange(self, data: Any, goal: Array | None) -> None:
        if goal is not None:
            self._place(data, "object:joint", goal)


class _Maze(Family):
    """A maze with a point or an ant; the goal is a position, (2,)."""

    success = "success"

    @property
    def camera(self) -> Mapping[str, Any]:
        """The camera's settings: it looks from above, where walls hide nothing."""
        return {"elevation": -90.0}

    @contextmanager
    def starting(self, goal: Array) -> Iterator[None]:
        """Make the reset draw `goal`, since it draws a start away from its goal."""
        env, noise = self.env, self.env.position_noise_range

        def generate_reset_pos() -> Any:
            env.position_noise_range = noise
            return type(env).generate_reset_pos(env)

        env.generate_target_goal, env.generate_reset_pos = goal.copy, generate_reset_pos
        env.position_noise_range = 0.0
        try:
            yield
        finally:
            env.position_noise_range = noise
            del env.generate_target_goal, env.generate_reset_pos

    def set(self, goal: Array) -> None:
        super().set(goal)
        self.env.update_target_site_pos()

    def draw(self) -> Array:
        goal: Array = self.env.add_xy_position_noise(self.env.generate_target_goal())
        return goal

    def arrange(self, data: Any, goal: Array | None) -> None:
        if goal is not None:
            data.qpos[:2] = goal


class _Kitchen(Family):
    """The goal is a dict: positions of joints, by task."""

    success = ""
    fixed_because = "its goals follow from its tasks; choose these by tasks_to_complete"
    unseen_because = "its goal is several tasks, of which the agent chooses the order"

    def get(self) -> Any:
        return {task: goal.copy() for task, goal in self.env.goal.items()}

    def copied(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {**observation, "desired_goal": self.get()}  # the environment returns its own dict

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """The number of remaining tasks that are complete, for each row."""
        one = next(iter(self.env.goal))
        if np.ndim(achieved[one]) > 1:
            rows = range(len(achieved[one]))
            return np.array([self.rewards(_row(achieved, k), _row(desired, k), info) for k in rows])
        completions = list(self.env.step_task_completions)  # compute_reward clears it
        reward = self.env.compute_reward(achieved, desired, info)
        self.env.step_task_completions[:] = completions
        return reward


def family_of(env: Any) -> Family:
    """The environment's family. Raises UsageError if it is of none."""
    inner = env.unwrapped
    if hasattr(inner, "generate_target_goal"):
        return _Maze(inner)
    if hasattr(inner, "tasks_to_complete"):
        return _Kitchen(inner)
    if hasattr(inner, "has_object"):
        return _Fetch(inner)
    if hasattr(inner, "target_rotation"):
        return _HandManipulate(inner)
    if hasattr(inner, "_sample_goal"):
        return _HandReach(inner)
    raise BadArgument(
        f"Reglue does not know the goals of {env}; wanted a subclass of "
        "env_adapters.goals.GoalEnvironment, or Fetch, Hand, a maze or the kitchen of "
        "gymnasium-robotics"
    )


def _row(goals: Mapping[str, Array], row: int) -> dict[str, Array]:
    return {task: rows[row] for task, rows in goals.items()}


def goal_environment(
    env: gymnasium.Env[Any, Any] | str, *, fixed_goal: Any = None, **options: Any
) -> Any:
    """`env` if it is or wraps a GoalEnvironment, else a GoalEnvironment around it.

    `env` may be an id, made with the keywords `options`. `fixed_goal`, if given, is the goal of
    every episode. Raises UsageError for an environment without goals, one of an unknown family,
    or a goal outside its space, and as `env_adapters.gymnasium_library.make` for an id.
    """
    if isinstance(env, str):
        env = make(env, options)
    elif options:
        raise BadArgument(got=f"{sorted(options)} for {env}", wanted="keywords beside an id only")
    if not isinstance(env, gymnasium.Env):
        raise BadArgument(got=repr(env), wanted="a Gymnasium environment")
    try:
        goals = goal_environment_in(env)
    except LookupError:
        env = goals = Robotics(env)
    if fixed_goal is not None:
        goals.fixed_goal = fixed_goal
    return env


class Robotics(Forwarding, GoalEnvironment, RecordConstructorArgs):
    """An environment of gymnasium-robotics, with the same bits as without this wrapper."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Raises UsageError for an environment that has no goals, or is not known."""
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, spaces.Dict) or not set(GOAL_KEYS) <= set(space.spaces):
            raise BadArgument(
                f"{env} has no goals: its observations are {space}, wanted a Dict with "
                f"{', '.join(GOAL_KEYS)}"
            )
        self._family: Family = family_of(env)
        self._renderers: dict[int, GoalRenderer] = {}
        self.success = self._family.success
        self.diagnosed = (self.success,) if self.success else ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, with the fixed goal if there is one."""
        fixed = self.fixed_goal
        if fixed is None:
            observation, info = self.env.reset(seed=seed, options=options)
            return self._family.copied(observation), info
        with self._family.starting(fixed):
            observation, info = self.env.reset(seed=seed, options=options)
        self._family.set(fixed)
        return {**observation, **self.get_goal()}, info

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._family.copied(observation), reward, terminated, truncated, info

    def check_goal(self, goal: Any) -> Any:
        """Check it like the base class. Raises UsageError for the kitchen: its goals are tasks."""
        if self._family.fixed_because:
            raise UsageError(f"{self.env} has no set_goal: {self._family.fixed_because}")
        return super().check_goal(goal)

    def get_goal(self) -> Observation:
        """A copy of the goal. Raises UsageError before the first reset."""
        return {"desired_goal": self._family.get()}

    def set_goal(self, goal: Any) -> None:
        """Set the goal until the next reset, or until a maze with `reset_target` changes it."""
        self._family.set(self.check_goal(goal))

    def sample_goals(self, n: int) -> Observation:
        """Draw goals as a reset draws them. Raises UsageError for the kitchen."""
        if self._family.fixed_because:
            raise UsageError(f"{self.env} has no goals to draw: {self._family.fixed_because}")
        check_integer("n", n, 0)
        fixed = self.fixed_goal
        goals = [self._family.draw() if fixed is None else fixed for _ in range(n)]
        space: Any = self.observation_space
        shape = space["desired_goal"].shape
        return {"desired_goal": np.array(goals, np.float64).reshape(n, *shape)}

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """Compute rewards as the environment does. Raises UsageError for goals of another shape."""
        space: Any = self.observation_space
        wanted = space["desired_goal"]
        if not isinstance(achieved, Mapping):
            achieved, desired = np.asarray(achieved), np.asarray(desired)
            if achieved.shape != desired.shape or achieved.shape[-1:] != wanted.shape:
                got = f"{achieved.shape} and {desired.shape}"
                raise BadArgument(got=f"goals of shapes {got}", wanted=f"(…, {wanted.shape[0]})")
        return self._family.rewards(achieved, desired, info)

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        compute = self.env.get_wrapper_attr("compute_terminated")
        return bool(compute(achieved_goal, desired_goal, info))

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        compute = self.env.get_wrapper_attr("compute_truncated")
        return bool(compute(achieved_goal, desired_goal, info))

    def check_images(self, size: int) -> None:
        """Raise UsageError if MuJoCo cannot draw here, and for families without goal images."""
        if self._family.unseen_because:
            raise UsageError(f"{self.env} has no image of goals: {self._family.unseen_because}")
        self._renderer(size)

    def get_image(self, size: int, goal: Any = None) -> Array:
        """Draw with MuJoCo, from a copy of the state."""
        family, renderer = self._family, self._renderer(size)
        state = IntegrationState(family).read()
        wanted = None if goal is None else self.check_goal(goal)
        return renderer.render(state, lambda data: family.arrange(data, wanted))

    def close(self) -> None:
        """Close the environment and the renderers."""
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers = {}
        super().close()

    def _renderer(self, size: int) -> GoalRenderer:
        if size not in self._renderers:
            self._renderers[size] = GoalRenderer(self._family.model, size, self._family.camera)
        return self._renderers[size]

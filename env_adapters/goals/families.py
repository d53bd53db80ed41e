"""Where the environments of gymnasium-robotics keep their goals, and how these look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from env_adapters.gymnasium.library import mujoco
from reglue.errors import UsageError
from reglue.spec import Array

# Found in the sources of gymnasium-robotics 1.4.2.

_DOWN = (1.0, 0.0, 1.0, 0.0)
"""How Fetch holds its gripper, a quaternion."""


class Family:
    """Fetch and Hand: the goal is the attribute `goal`, drawn by `_sample_goal`."""

    success = "is_success"
    """The flag's name in the infos of steps; empty where there is none."""

    fixed_because = ""
    """Why there is no set_goal, if so."""

    unseen_because = ""
    """Why there is no image of a goal, if so."""

    def __init__(self, env: Any) -> None:
        """`env` is unwrapped."""
        self.env = env

    @property
    def data(self) -> Any:
        """MuJoCo's, of the running episode."""
        return self.env.data

    @property
    def model(self) -> Any:
        """MuJoCo's."""
        return self.env.model

    @property
    def camera(self) -> Mapping[str, Any]:
        """What is not the free camera's default, as Gymnasium draws it."""
        found: Mapping[str, Any] = self.env.mujoco_renderer.default_cam_config or {}
        return found

    @contextmanager
    def starting(self, goal: Array) -> Iterator[None]:
        """Around a reset that is to be for `goal`, where that makes a difference."""
        yield

    def get(self) -> Any:
        """The goal; a copy. Raises UsageError before there is one."""
        goal = np.array(getattr(self.env, "goal", ()), np.float64).ravel()
        if not goal.size:
            raise UsageError("there is no goal yet; call reset first")
        return goal

    def set(self, goal: Array) -> None:
        """Have another."""
        self.env.goal = goal.copy()

    def draw(self) -> Array:
        """A goal from `np_random`."""
        goal: Array = self.env._sample_goal().ravel()
        return goal

    def seen(self, observation: dict[str, Any]) -> dict[str, Any]:
        """An observation that nothing changes later."""
        return observation

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """Of goals, or of rows of them."""
        return self.env.compute_reward(achieved, desired, info)

    def arrange(self, data: Any, goal: Array | None) -> None:
        """Let a copy of the data be as if `goal` were achieved; None for how it is."""

    def _place(self, data: Any, joint: str, values: Array) -> None:
        """Set the first entries of a free joint's position, at rest."""
        data.joint(joint).qpos[: len(values)] = values
        data.joint(joint).qvel[:] = 0


class _Fetch(Family):
    """The goal is where the object is to be, or the gripper."""

    def arrange(self, data: Any, goal: Array | None) -> None:
        if goal is None:
            return
        if self.env.has_object:
            self._place(data, "object0:joint", goal)
        else:
            self._reach(data, goal)

    def _reach(self, data: Any, goal: Array) -> None:
        """The gripper follows a body that is moved by hand, and is let settle."""
        for _ in range(20):
            hand = data.body("robot0:gripper_link").xpos
            data.mocap_pos[0] = hand + goal - data.site("robot0:grip").xpos
            data.mocap_quat[0] = _DOWN
            mujoco().mj_step(self.model, data, nstep=self.env.n_substeps)


class _HandReach(Family):
    unseen_because = (
        "it is where five fingertips are to be, and no pose of the hand is known for it"
    )


class _HandManipulate(Family):
    """The goal is the object's pose: place and quaternion."""

    def arrange(self, data: Any, goal: Array | None) -> None:
        if goal is not None:
            self._place(data, "object:joint", goal)


class _Maze(Family):
    """Of a point or an ant; `goal` is x and y."""

    success = "success"

    @property
    def camera(self) -> Mapping[str, Any]:
        """From above, where no wall hides what is behind it."""
        return {"elevation": -90.0}

    @contextmanager
    def starting(self, goal: Array) -> Iterator[None]:
        """The start is drawn away from the goal: that is drawn as this one, without noise."""
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
    """The goal is a dict: where joints are to be, by task."""

    success = ""
    fixed_because = "its goals follow from its tasks; choose these by tasks_to_complete"
    unseen_because = "its goal is several tasks, of which the agent chooses the order"

    def get(self) -> Any:
        return {task: goal.copy() for task, goal in self.env.goal.items()}

    def seen(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {**observation, "desired_goal": self.get()}  # it shows the one that it keeps

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """How many of the tasks still wanted are complete; row by row."""
        one = next(iter(self.env.goal))
        if np.ndim(achieved[one]) > 1:
            rows = range(len(achieved[one]))
            return np.array([self.rewards(_row(achieved, k), _row(desired, k), info) for k in rows])
        kept = list(self.env.step_task_completions)  # the environment clears it
        reward = self.env.compute_reward(achieved, desired, info)
        self.env.step_task_completions[:] = kept
        return reward


def family_of(env: Any) -> Family:
    """Raises UsageError for an environment that is of none."""
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
    raise UsageError(
        f"it is not known where {env} keeps its goals; wanted one that is derived from "
        "env_adapters.goals.GoalEnvironment, or Fetch, Hand, a maze or the kitchen of "
        "gymnasium-robotics"
    )


def _row(goals: Mapping[str, Array], row: int) -> dict[str, Array]:
    return {task: rows[row] for task, rows in goals.items()}

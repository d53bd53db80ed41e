"""The costs of Meta-World's steps and resets, in a process of its own, which loads all tasks."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld import ALL_TASKS, MetaWorld, draw_goals, task_set
from env_adapters.metaworld.fast_step import StandIn, stand_in
from env_adapters.metaworld.library import metaworld, mujoco
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell


def main(tasks: int, repetitions: int) -> None:
    """Rows of the first `tasks` tasks."""
    names = ALL_TASKS[:tasks]
    steps = [row._asdict() for row in step_costs(names, repetitions)]
    resets = [row._asdict() for row in reset_costs(names)]
    sys.stdout.write(json.dumps({"steps": steps, "resets": resets}))


_STEPS = 60  # of an episode, each repetition
_NOISE = 0.1


class StepCost(NamedTuple):
    """Costs of one task's steps, microseconds of CPU time a step, medians of repetitions."""

    task: str
    floor: float  # the physics alone
    plain: float  # metaworld's own step
    fast: float  # ours
    world: float  # ours with all that a World adds: checks, observation, Step


def step_costs(tasks: Sequence[str] = ALL_TASKS, repetitions: int = 7) -> list[StepCost]:
    """A row a task; floor, plain, fast and world take turns."""
    return [_step_cost(task, repetitions) for task in tasks]


def _step_cost(task: str, repetitions: int) -> StepCost:
    episode = _Episode(task)
    sides = (episode.floor, episode.plain, episode.fast, episode.world)
    rounds = [[side() for side in sides] for _ in range(repetitions)]
    return StepCost(task, *(median(side) for side in zip(*rounds, strict=True)))


Control: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""The input of the physics in a step: the hand's target, and the gripper's force."""


def simulation(env: Any) -> Callable[[Control], None]:
    """The physics alone of a step of one of Meta-World's environments."""
    mj, model, data = mujoco(), env.model, env.data
    position, control, substeps = data.mocap_pos, data.ctrl, env.frame_skip

    def simulate(wanted: Control) -> None:
        position[:], control[:] = wanted
        mj.mj_step(model, data, substeps)
        mj.mj_forward(model, data)

    return simulate


class _Episode:
    """Beginnings of one episode, played again and again."""

    def __init__(self, task: str) -> None:
        self._env = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task](reward_function_version="v2")
        double = stand_in(self._env)
        assert double is not None, "the fast step was not proved for what is installed"
        self._double: StandIn = double
        goal = self._start()
        self._actions, self._controls = self._play_expert(task)
        self._world = MetaWorld(goals={task: [goal]}, goal_visible=True).world()
        self._cell = Cell(task, 0, seed=0, repeat=0, phase=Phase.TRAIN)

    def floor(self) -> float:
        """Microseconds a step."""
        self._start()
        return _timed(simulation(self._env), self._controls)

    def plain(self) -> float:
        """Microseconds a step."""
        self._start()
        return _timed(self._env.step, self._actions)

    def fast(self) -> float:
        """Microseconds a step."""
        self._start()
        return _timed(self._double.step, self._actions)

    def world(self) -> float:
        """Microseconds a step."""
        self._world.start(self._cell)
        return _timed(self._world.step, [{"action": action} for action in self._actions])

    def _start(self) -> tuple[float, ...]:
        """Begin with the goal that comes first."""
        env = self._env
        env._set_task_called, env._freeze_rand_vec, env.seeded_rand_vec = True, False, True
        env.np_random = np.random.RandomState(0)
        env.reset()
        goal = tuple(env._last_rand_vec.tolist())
        env._freeze_rand_vec = True
        return goal

    def _play_expert(self, task: str) -> tuple[list[Any], list[Any]]:
        """Its actions, and what the physics is told for each."""
        policy, rng = metaworld("policies").ENV_POLICY_MAP[task](), np.random.default_rng(0)
        env, data, actions, controls = self._env, self._env.data, [], []
        observation = env._get_obs()
        for _ in range(_STEPS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # actions out of bounds are meant
                seen = np.concatenate([observation[:36], env._target_pos])
                action = policy.get_action(seen) + rng.normal(scale=_NOISE, size=4)
            actions.append(action.astype(np.float32))
            observation = env.step(actions[-1])[0]
            controls.append((data.mocap_pos.copy(), data.ctrl.copy()))
        return actions, controls


def _timed(step: Callable[[Any], object], inputs: Sequence[Any]) -> float:
    begin = time.process_time_ns()
    for each in inputs:
        step(each)
    return (time.process_time_ns() - begin) / 1000 / len(inputs)


_GOALS = 2  # which take turns: each reset leads to another goal


class ResetCost(NamedTuple):
    """Costs of one task's resets, microseconds of CPU time."""

    task: str
    first: float  # the goal was never played in this process; what a cache brings counts
    known: float  # median of repetitions


def reset_costs(tasks: Sequence[str] = ALL_TASKS, repetitions: int = 20) -> list[ResetCost]:
    """A row a task."""
    return [_reset_cost(task, repetitions) for task in tasks]


def _reset_cost(task: str, repetitions: int) -> ResetCost:
    goals = draw_goals(task_set(f"MT1:{task}"), 0)[task][:_GOALS]
    world = MetaWorld(goals={task: [list(goal) for goal in goals]}, goal_visible=True).world()
    cells = [Cell(task, variant, 0, 0, Phase.EVALUATE) for variant in range(_GOALS)]
    world.start(cells[0])  # builds the simulator

    def reset(place: int) -> float:
        began = time.process_time_ns()
        world.start(cells[place % _GOALS])
        return (time.process_time_ns() - began) / 1000

    first = reset(1)
    return ResetCost(task, first, median(reset(place) for place in range(repetitions)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

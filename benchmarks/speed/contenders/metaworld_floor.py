"""The least that scripted experts on MT10 can cost: the physics, and the experts' own time.

Beside it what the same steps cost in our worlds, without a glue.

`python -m speed.contenders.metaworld_floor SHARE OF EPISODES SEED` measures a share of the goals of
each task, so that a process a core measures all of them while all cores are busy.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any, cast

import metaworld
import numpy as np
from metaworld.policies import ENV_POLICY_MAP

from env_adapters.metaworld import MetaWorld
from reglue.environments.world import Cell
from reglue.messages.agent_messages import Phase
from reglue.spec import Array
from speed.contenders.metaworld_costs import Control, simulation

MAX_STEPS = 500


def main(share: int, of: int, episodes: int, seed: int) -> None:
    """Seconds of physics, experts and our worlds, over goals `share`, `share + of`, …"""
    warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
    benchmark = cast(Any, metaworld).MT10(seed=seed)
    measured = {"physics": 0.0, "experts": 0.0, "worlds": 0.0, "steps": 0.0}
    for name, cls in benchmark.train_classes.items():
        environment = cls(reward_function_version="v2")
        goals = [task for task in benchmark.train_tasks if task.env_name == name]
        vectors: list[tuple[float, ...]] = []
        taken: list[list[Array]] = []
        for goal in goals[share:episodes:of]:
            environment.set_task(goal)
            controls, actions, experts = _played(environment, cast(Any, ENV_POLICY_MAP)[name]())
            measured["physics"] += _simulated(environment, controls)
            vectors.append(tuple(environment._last_rand_vec.tolist()))
            taken.append(actions)
            measured["experts"] += experts
            measured["steps"] += len(controls)
        measured["worlds"] += _stepped(name, vectors, taken)
        environment.close()
    sys.stdout.write(json.dumps(measured))


def _played(environment: Any, expert: Any) -> tuple[list[Control], list[Array], float]:
    """An episode up to its first success: what the physics is told, actions, the expert's s."""
    observation, _ = environment.reset()
    controls: list[Control] = []
    actions: list[Array] = []
    seconds, success = 0.0, False
    while not success and len(controls) < MAX_STEPS:
        began = time.perf_counter()
        action = expert.get_action(observation.copy())
        seconds += time.perf_counter() - began
        actions.append(action.astype(np.float32))
        observation, _, _, _, info = environment.step(actions[-1])
        success = info["success"] == 1
        controls.append((environment.data.mocap_pos.copy(), environment.data.ctrl.copy()))
    return controls, actions, seconds


def _stepped(task: str, goals: list[tuple[float, ...]], actions: list[list[Array]]) -> float:
    """Seconds of the steps of a task's episodes in one of our worlds."""
    world, seconds = MetaWorld(goals={task: goals}, goal_visible=True).world(), 0.0
    for variant, episode in enumerate(actions):
        world.start(Cell(task, variant, seed=0, repeat=0, phase=Phase.EVALUATE))
        began = time.perf_counter()
        for action in episode:
            step = world.step({"action": action})
        seconds += time.perf_counter() - began
        assert step.success or step.truncated, "the episode went another way"
    return seconds


def _simulated(environment: Any, controls: list[Control]) -> float:
    """Seconds of the episode's physics alone."""
    led_to = environment.data.qpos.copy()
    environment.reset()
    simulate = simulation(environment)
    began = time.perf_counter()
    for control in controls:
        simulate(control)
    seconds = time.perf_counter() - began
    assert np.array_equal(environment.data.qpos, led_to), "the physics went another way"
    return seconds


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

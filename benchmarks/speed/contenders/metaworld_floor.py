"""The least that an evaluation on Meta-World can cost: the physics, and the policy's own time.

Beside it what the same steps cost in our worlds, without a glue.

`python -m speed.contenders.metaworld_floor BENCHMARK SHARE OF EPISODES SEED`: MT10 is played by
scripted experts up to their first success, ML10's test tasks by the light learner for whole
episodes. It measures a share of the goals of each task, so that a process a core measures all of
them while all cores are busy.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import metaworld
import numpy as np
from metaworld.policies import ENV_POLICY_MAP

from env_adapters.metaworld import MetaWorld
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.spec import Array
from speed.contenders.metaworld_costs import Control, simulation
from speed.light import Learner

MAX_STEPS = 500
Act: TypeAlias = Callable[[Array], Array]


def main(name: str, share: int, of: int, episodes: int, seed: int) -> None:
    """Seconds of physics, policy and our worlds, over goals `share`, `share + of`, …"""
    warnings.simplefilter("ignore")  # the experts' own: "Constant(s) may be too high"
    benchmark = getattr(metaworld, name)(seed=seed)
    is_meta = name == "ML10"
    split = "test" if is_meta else "train"
    measured = {"physics": 0.0, "policy": 0.0, "worlds": 0.0, "steps": 0.0}
    for task, cls in getattr(benchmark, f"{split}_classes").items():
        environment = cls(reward_function_version="v2")
        goals = [each for each in getattr(benchmark, f"{split}_tasks") if each.env_name == task]
        act: Act = _learned if is_meta else cast(Any, ENV_POLICY_MAP)[task]().get_action
        vectors: list[tuple[float, ...]] = []
        taken: list[list[Array]] = []
        for goal in goals[share:episodes:of]:
            environment.set_task(goal)
            controls, actions, policy = _played(environment, act, whole=is_meta)
            measured["physics"] += _simulated(environment, controls)
            vectors.append(tuple(environment._last_rand_vec.tolist()))
            taken.append(actions)
            measured["policy"] += policy
            measured["steps"] += len(controls)
        suite = MetaWorld(goals={task: vectors}, goal_visible=not is_meta)
        measured["worlds"] += _stepped(suite, task, taken)
        environment.close()
    sys.stdout.write(json.dumps(measured))


def _learned(observation: Array) -> Array:
    [action] = Learner().eval_action(observation[None])
    return cast(Array, action)


def _played(environment: Any, act: Act, *, whole: bool) -> tuple[list[Control], list[Array], float]:
    """An episode, unless `whole` up to its first success: controls, actions, the policy's s."""
    observation, _ = environment.reset()
    controls: list[Control] = []
    actions: list[Array] = []
    seconds, is_over = 0.0, False
    while not is_over and len(controls) < MAX_STEPS:
        began = time.perf_counter()
        action = act(observation.copy())
        seconds += time.perf_counter() - began
        actions.append(action.astype(np.float32))
        observation, _, _, _, info = environment.step(actions[-1])
        is_over = info["success"] == 1 and not whole
        controls.append((environment.data.mocap_pos.copy(), environment.data.ctrl.copy()))
    return controls, actions, seconds


def _stepped(suite: MetaWorld, task: str, actions: list[list[Array]]) -> float:
    """Seconds of the steps of a task's episodes in one of our worlds."""
    world, seconds = suite.world(), 0.0
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
    main(sys.argv[1], *map(int, sys.argv[2:]))

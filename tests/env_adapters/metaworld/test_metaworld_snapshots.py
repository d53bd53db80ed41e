"""A kept state goes on to the bit, here and in another process, or is refused."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, Restorable
from env_adapters.metaworld import ALL_TASKS, MetaWorld
from env_adapters.states import read_episode_state
from reglue.errors import BadArgument, UsageError
from reglue.messages.agent_messages import Phase
from tests.error_facts import raises
from tests.programs import run_python

pytestmark = pytest.mark.slow

Bits = tuple[bytes, float, bool, bool, bool]
OTHER_PROCESS = """
import json, sys
import numpy as np
from env_adapters import SuiteName

for line in sys.stdin:
    job = json.loads(line)
    world = SuiteName("env_adapters.metaworld:MetaWorld", job["config"]).build().world()
    world.set_state(bytes.fromhex(job["state"]))
    for action in np.array(job["actions"], np.float32):
        step = world.step({"action": action})
        seen = step.observation["observation"].tobytes().hex()
        print(json.dumps([seen, step.reward, step.terminated, step.truncated, step.success]))
"""


def cell(task: str, variant: int = 0, phase: Phase = Phase.ADAPT) -> Cell:
    return Cell(task, variant, seed=3, repeat=4, phase=phase)


def config(goals: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"goals": goals, "goal_visible": True, "recurrent_info": True} | options


def run(world: Any, actions: Any) -> list[Bits]:
    steps = [world.step({"action": action}) for action in actions]
    return [
        (s.observation["observation"].tobytes(), s.reward, s.terminated, s.truncated, s.success)
        for s in steps
    ]


def play(world: Any, first: Any, act: Callable[[Any], Any], steps: int) -> tuple[Any, list[Bits]]:
    """Plays `steps` of an episode by a policy; its actions and what they gave."""
    actions, taken, observation = [], [], first["observation"]
    for _ in range(steps):
        actions.append(act(observation))
        taken += run(world, actions[-1:])
        observation = np.frombuffer(taken[-1][0])
    return actions, taken


@pytest.mark.parametrize("task", ALL_TASKS)
def test_a_state_goes_on_to_the_bit_in_a_fresh_suite(task: str, draw_two: Any, expert: Any) -> None:
    goals = {task: draw_two(task)}
    world = MetaWorld(**config(goals)).world()
    _, before = play(world, world.start(cell(task, 1)), expert(task), 20)
    state = world.get_state()
    last = {"observation": np.frombuffer(before[-1][0])}
    actions, expected = play(world, last, expert(task), 15)

    fresh = MetaWorld(**config(goals)).world()
    fresh.set_state(state)
    assert run(fresh, actions) == expected
    world.close()
    fresh.close()


def test_a_state_goes_on_to_the_bit_in_another_process(draw_two: Any, expert: Any) -> None:
    jobs, expected = [], []
    for task in ("bin-picking-v3", "pick-place-v3", "assembly-v3", "window-close-v3"):
        settings = config({task: draw_two(task)}, one_hot=True)
        world = MetaWorld(**settings).world()
        play(world, world.start(cell(task, 1)), expert(task), 60)
        state = world.get_state()
        actions = np.random.default_rng(1).uniform(-1, 1, (15, 4)).astype(np.float32)
        expected += run(world, actions)
        jobs.append({"config": settings, "state": state.hex(), "actions": actions.tolist()})
    done = run_python(OTHER_PROCESS, given="\n".join(map(json.dumps, jobs)))
    lines = map(json.loads, done.stdout.splitlines())
    assert [(bytes.fromhex(seen), *rest) for seen, *rest in lines] == expected


@pytest.fixture(scope="module")
def suite(draw_two: Any) -> MetaWorld:
    goals = {"push-v3": draw_two("push-v3"), "hammer-v3": draw_two("hammer-v3")}
    return MetaWorld(**config(goals, horizon=20))


ACTIONS = np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32)


def test_worlds_can_be_restored(suite: MetaWorld) -> None:
    assert isinstance(suite.world(), Restorable)


def test_the_state_of_a_start_plays_the_whole_episode(suite: MetaWorld) -> None:
    world = suite.world()
    world.start(cell("push-v3"))
    state = world.get_state()
    expected = run(world, ACTIONS)
    world.set_state(state)
    assert run(world, ACTIONS) == expected


def test_a_state_replaces_an_episode_of_another_task(suite: MetaWorld) -> None:
    world = suite.world()
    world.start(cell("push-v3"))
    run(world, ACTIONS[:5])
    state = world.get_state()
    expected = run(world, ACTIONS[5:])
    world.start(cell("hammer-v3"))
    run(world, ACTIONS[:3])
    world.set_state(state)
    assert run(world, ACTIONS[5:]) == expected


def test_a_state_keeps_its_whole_cell(suite: MetaWorld) -> None:
    world = suite.world()
    world.start(cell("push-v3", 1, Phase.EVALUATE))
    assert read_episode_state(world.get_state()).cell == cell("push-v3", 1, Phase.EVALUATE)


def test_a_restored_evaluation_still_ends_at_success(draw_two: Any, expert: Any) -> None:
    goals = {"drawer-close-v3": draw_two("drawer-close-v3")}
    world = MetaWorld(**config(goals)).world()
    act = expert("drawer-close-v3")
    first = world.start(cell("drawer-close-v3", phase=Phase.EVALUATE))
    play(world, first, act, 5)
    state = world.get_state()
    other = MetaWorld(**config(goals)).world()
    other.set_state(state)
    step = other.step({"action": np.zeros(4)})
    while not (step.terminated or step.truncated):
        step = other.step({"action": act(step.observation["observation"])})
    assert (step.terminated, step.success) == (True, True)


def test_without_an_episode_there_is_no_state(suite: MetaWorld) -> None:
    with raises(UsageError, "start"):
        suite.world().get_state()


def _flipped(state: bytes) -> bytes:
    return state[:-100] + bytes([state[-100] ^ 1]) + state[-99:]


def _of_another_suite(state: bytes) -> bytes:
    return dataclasses.replace(read_episode_state(state), suite={"suite": "another"}).to_bytes()


def _of_another_task(state: bytes) -> bytes:
    return dataclasses.replace(read_episode_state(state), cell=cell("hammer-v3")).to_bytes()


def _of_a_late_step(state: bytes) -> bytes:
    return dataclasses.replace(read_episode_state(state), steps=20).to_bytes()


BAD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "flipped": (_flipped, "damaged"),
    "of another suite": (_of_another_suite, "config"),
    "of another task": (_of_another_task, "hammer-v3"),
    "of a late step": (_of_a_late_step, "push-v3"),
}


@pytest.mark.parametrize(("spoil", "named"), BAD.values(), ids=BAD.keys())
def test_a_state_that_is_not_its_own_is_refused_and_the_episode_goes_on(
    suite: MetaWorld, spoil: Callable[[bytes], bytes], named: str
) -> None:
    world = suite.world()
    world.start(cell("push-v3"))
    run(world, ACTIONS[:5])
    state = world.get_state()
    expected = run(world, ACTIONS[5:])
    world.set_state(state)
    with raises(BadArgument, named):
        world.set_state(spoil(state))
    assert run(world, ACTIONS[5:]) == expected


def test_a_suite_refuses_the_state_of_one_with_another_config(draw_two: Any) -> None:
    goals = {"push-v3": draw_two("push-v3")}
    one = MetaWorld(**config(goals)).world()
    one.start(cell("push-v3"))
    two = MetaWorld(**config(goals, recurrent_info=False)).world()
    with raises(BadArgument, "config"):
        two.set_state(one.get_state())

"""Episodes are Meta-World's to the bit, and start and end where they should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, Step
from env_adapters.metaworld import ALL_TASKS, MetaWorld
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.agent_messages import Phase
from tests.error_facts import raises

STILL = {"action": np.zeros(4, np.float32)}


def cell(task: str, variant: int = 0, phase: Phase = Phase.ADAPT) -> Cell:
    return Cell(task, variant, seed=0, repeat=0, phase=phase)


@pytest.fixture(scope="module")
def reach(draw_two: Any) -> MetaWorld:
    return MetaWorld(goals={"reach-v3": draw_two("reach-v3")}, goal_visible=True, horizon=7)


def play(world: Any, first: Any, act: Callable[[Any], Any], steps: int) -> list[Step]:
    """Steps of an episode that has begun, by a policy of the observation."""
    taken: list[Step] = []
    observation = first["observation"]
    for _ in range(steps):
        taken.append(world.step({"action": act(observation)}))
        observation = taken[-1].observation["observation"]
    return taken


@pytest.mark.parametrize("task", ALL_TASKS)
def test_an_episode_has_the_bits_of_plain_metaworld_whatever_was_played_before(
    task: str, draw_two: Any, start_plain: Any, expert: Any
) -> None:
    goals = draw_two(task)
    env, observation = start_plain(task, goals[0])
    act = expert(task)
    reference = [observation.tobytes()]
    for _ in range(30):
        observation, reward, _, _, info = env.step(act(observation))
        reference.append((observation.tobytes(), float(reward), info["success"] == 1.0))

    world = MetaWorld(goals={task: goals}, goal_visible=True).world()
    play(world, world.start(cell(task, 1)), act, 20)
    first = world.start(cell(task, 0))
    steps = play(world, first, act, 30)
    world.close()

    bits = [(s.observation["observation"].tobytes(), s.reward, s.success) for s in steps]
    assert [first["observation"].tobytes(), *bits] == reference


def test_a_hidden_goal_is_hidden_and_changes_nothing_else(
    draw_two: Any, start_plain: Any, expert: Any
) -> None:
    goals = draw_two("push-v3")
    env, observation = start_plain("push-v3", goals[0], goal_visible=False)
    act = expert("push-v3")
    world = MetaWorld(goals={"push-v3": goals}, goal_visible=False).world()
    steps = play(world, world.start(cell("push-v3")), act, 20)
    for step in steps:
        observation, reward, _, _, _ = env.step(act(observation))
        assert step.observation["observation"].tobytes() == observation.tobytes()
        assert step.reward == float(reward)
        assert not step.observation["observation"][36:].any()


@pytest.mark.parametrize("task", ["drawer-close-v3", "pick-place-v3"])
def test_actions_out_of_bounds_count_as_in_plain_metaworld(
    task: str, draw_two: Any, start_plain: Any, expert: Any
) -> None:
    """Rewards of some tasks differ in their last bits when the gripper is clipped before."""
    goals = draw_two(task)
    env, observation = start_plain(task, goals[0])
    act = expert(task)
    world = MetaWorld(goals={task: goals}, goal_visible=True).world()
    for step in play(world, world.start(cell(task)), lambda seen: act(seen) * np.float32(4), 60):
        observation, reward, _, _, _ = env.step(act(observation) * np.float32(4))
        assert step.observation["observation"].tobytes() == observation.tobytes()
        assert step.reward == float(reward)


def test_two_worlds_of_a_suite_play_the_same_task_side_by_side(reach: MetaWorld) -> None:
    alone, other = reach.world(), reach.world()
    alone.start(cell("reach-v3"))
    expected = [alone.step(STILL).reward for _ in range(3)]
    alone.start(cell("reach-v3"))
    other.start(cell("reach-v3", 1))
    rewards = []
    for _ in range(3):
        rewards.append(alone.step(STILL).reward)
        other.step(STILL)
    assert rewards == expected


def test_an_episode_is_truncated_at_the_horizon(reach: MetaWorld) -> None:
    world = reach.world()
    world.start(cell("reach-v3"))
    flags = [(step.truncated, step.terminated) for step in (world.step(STILL) for _ in range(7))]
    assert flags == [(False, False)] * 6 + [(True, False)]


def first_end(suite: MetaWorld, phase: Phase, act: Any, steps: int) -> list[Step]:
    world = suite.world()
    seen = world.start(cell("drawer-close-v3", phase=phase))["observation"]
    taken: list[Step] = []
    while len(taken) < steps and not (taken and (taken[-1].terminated or taken[-1].truncated)):
        taken.append(world.step({"action": act(seen)}))
        seen = taken[-1].observation["observation"]
    world.close()
    return taken


@pytest.fixture(scope="module")
def evaluated(draw_two: Any, expert: Any) -> list[Step]:
    """An evaluation episode of a task that its expert soon solves."""
    suite = MetaWorld(goals={"drawer-close-v3": draw_two("drawer-close-v3")}, goal_visible=True)
    return first_end(suite, Phase.EVALUATE, expert("drawer-close-v3"), 200)


def test_an_evaluation_episode_terminates_at_its_first_success(evaluated: list[Step]) -> None:
    assert [step.success for step in evaluated] == [False] * (len(evaluated) - 1) + [True]
    assert [step.terminated for step in evaluated] == [step.success for step in evaluated]


@pytest.mark.parametrize("phase", [Phase.ADAPT, Phase.TRAIN])
def test_success_ends_no_other_episode(
    phase: Phase, evaluated: list[Step], draw_two: Any, expert: Any
) -> None:
    suite = MetaWorld(goals={"drawer-close-v3": draw_two("drawer-close-v3")}, goal_visible=True)
    more = len(evaluated) + 5
    steps = first_end(suite, phase, expert("drawer-close-v3"), more)
    assert len(steps) == more
    assert steps[len(evaluated) - 1].success


def test_success_at_the_horizon_terminates_and_truncates(
    evaluated: list[Step], draw_two: Any, expert: Any
) -> None:
    goals = {"drawer-close-v3": draw_two("drawer-close-v3")}
    suite = MetaWorld(goals=goals, goal_visible=True, horizon=len(evaluated))
    last = first_end(suite, Phase.EVALUATE, expert("drawer-close-v3"), 200)[-1]
    assert (last.terminated, last.truncated) == (True, True)


def test_a_step_before_start_is_refused(reach: MetaWorld) -> None:
    with raises(UsageError, "start"):
        reach.world().step(STILL)


def test_a_step_after_the_end_is_refused(reach: MetaWorld) -> None:
    world = reach.world()
    world.start(cell("reach-v3"))
    for _ in range(7):
        world.step(STILL)
    with raises(UsageError, "start"):
        world.step(STILL)


def test_a_closed_world_can_start_again(reach: MetaWorld) -> None:
    world = reach.world()
    first = world.start(cell("reach-v3"))["observation"].tobytes()
    world.close()
    assert world.start(cell("reach-v3"))["observation"].tobytes() == first


def test_an_unknown_task_lists_the_near_ones(reach: MetaWorld) -> None:
    with raises(UnknownName, "reach-v3", got="reach-v2"):
        reach.world().start(cell("reach-v2"))


@pytest.mark.parametrize("variant", [-1, 2])
def test_a_variant_out_of_range_is_refused(reach: MetaWorld, variant: int) -> None:
    with raises(BadArgument, "reach-v3", got=f"variant {variant}", wanted="0 to 1"):
        reach.world().start(cell("reach-v3", variant))


def test_a_goal_of_wrong_size_is_refused_and_the_episode_goes_on(draw_two: Any) -> None:
    goals = [draw_two("reach-v3")[0], [0.0, 0.8, 0.2]]  # reach draws its object's place too
    world = MetaWorld(goals={"reach-v3": goals}, goal_visible=True).world()
    world.start(cell("reach-v3"))
    with raises(BadArgument, "goal of 3", 6):
        world.start(cell("reach-v3", 1))
    assert not world.step(STILL).truncated


@pytest.mark.parametrize("action", [[0.0] * 3, [[0.0] * 4], [0.0, 0.0, 0.0, np.nan]])
def test_an_action_that_is_none_is_refused_and_the_episode_goes_on(
    reach: MetaWorld, action: Any
) -> None:
    world = reach.world()
    world.start(cell("reach-v3"))
    with raises(BadArgument, f"action {action}", 4):
        world.step({"action": np.array(action, np.float32)})
    flags = [world.step(STILL).truncated for _ in range(7)]
    assert flags == [False] * 6 + [True]

"""Episodes of a schedule, kept in their middle and taken up elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from env_adapters.curricula.suite import RestorableCurriculumWorld, Schedule
from env_adapters.determinism import check_determinism
from env_adapters.states import read_episode_state
from reglue import Phase
from reglue.environments.world import Restorable
from reglue.errors import BadArgument, UsageError
from reglue.messages.environment_messages import Cell
from reglue.spec import Array
from tests.error_facts import raises

FRICTION = {"distribution": "uniform", "low": 0.5, "high": 2.0}
SCHEDULE = [
    ["gymnasium:CartPole-v1", 1],
    [{"env": "gymnasium:HalfCheetah-v5", "physics": {"friction": FRICTION}}, 1],
    [{"pool": ["pong", "invasion"]}, 2],
    [{"env": "MT1:reach-v3", "variant": {"distribution": "uniform", "low": 0, "high": 49}}, 1],
    [
        {
            "interpolate": [
                {"env": "gymnasium:Pendulum-v1", "kwargs": {"g": g}} for g in (10.0, 2.0)
            ]
        },
        4,
    ],
]
EPISODES = range(8)


def schedule(**more: Any) -> Schedule:
    first = {"schedule": SCHEDULE, "episodic": True, "fit": "superset", "seed": 2}
    return Schedule(**{**first, **more})


def cell(episode: int, steps: int = 0) -> Cell:
    return Cell("curriculum", 0, 11, episode, Phase.TRAIN, steps)


ACTION = {
    "action/0": np.array(1),
    "action/1": np.full(6, 0.3, np.float32),
    "action/2": np.full(4, 0.2, np.float32),
    "action/3": np.full(1, 0.5, np.float32),
}


def rest(world: Any, steps: int) -> Sequence[Any]:
    """Of each step what it gave, until the episode is over."""
    found = []
    for _ in range(steps):
        step = world.step(ACTION)
        seen = {name: array.tobytes() for name, array in step.observation.items()}
        found.append((step.reward, step.terminated, step.truncated, step.success, seen))
        if step.terminated or step.truncated:
            break
    return found


@pytest.fixture(scope="module")
def suite() -> Schedule:
    return schedule()


def test_each_episode_goes_on_elsewhere_to_the_bit(suite: Schedule) -> None:
    for episode in EPISODES:
        with closing(suite.world()) as world:
            assert isinstance(world, RestorableCurriculumWorld)
            world.start(cell(episode))
            rest(world, 5)
            state = world.get_state()
            wanted = rest(world, 20)
            world.set_state(state)
            assert rest(world, 20) == wanted
        with closing(schedule().world()) as fresh:
            assert isinstance(fresh, RestorableCurriculumWorld)
            fresh.set_state(state)
            assert rest(fresh, 20) == wanted
            fresh.start(cell((episode + 1) % len(EPISODES)))
            rest(fresh, 3)
            fresh.set_state(state)
            assert rest(fresh, 20) == wanted


def test_an_entrys_end_by_steps_is_kept() -> None:
    car = ["gymnasium:MountainCar-v0", 10]
    suite = Schedule(schedule=[car, ["gymnasium:MountainCar-v0", 5]], episodic=False)
    with closing(suite.world()) as world, closing(suite.world()) as other:
        assert isinstance(world, RestorableCurriculumWorld)
        assert isinstance(other, RestorableCurriculumWorld)
        world.start(cell(0, steps=3))
        for _ in range(4):
            world.step({"action": np.array(0)})
        other.set_state(world.get_state())
        assert [other.step({"action": np.array(0)}).truncated for _ in range(3)] == [0, 0, 1]


def test_a_time_limit_is_kept() -> None:
    short = {"env": "gymnasium:Pendulum-v1", "kwargs": {"max_episode_steps": 6}}
    with closing(Schedule(schedule=[[short, 1]]).world()) as world:
        assert isinstance(world, RestorableCurriculumWorld)
        world.start(cell(0))
        action = {"action": np.zeros(1, np.float32)}
        for _ in range(4):
            world.step(action)
        state = world.get_state()
        world.start(cell(1))
        world.set_state(state)
        assert [world.step(action).truncated for _ in range(2)] == [False, True]


def test_it_is_admitted() -> None:
    pool = {"pool": [what for what, _ in SCHEDULE]}
    check_determinism(schedule(schedule=[[pool, 1]]), episodes=3, steps=12)


def test_what_is_no_state_of_this_schedule_is_refused_and_nothing_changes(suite: Schedule) -> None:
    other = schedule(seed=3)
    with closing(suite.world()) as world, closing(other.world()) as foreign:
        assert isinstance(world, RestorableCurriculumWorld)
        assert isinstance(foreign, RestorableCurriculumWorld)
        foreign.start(cell(0))
        world.start(cell(1))
        rest(world, 2)
        state = world.get_state()
        emptied = replace(read_episode_state(state), inside={}).to_bytes()
        for wrong, named in (
            (emptied, ["shapes", {}, "physics"]),
            (foreign.get_state(), ["options"]),
            (state[:-1], ["damaged", f"{len(state) - 1} bytes"]),
            (b"", [b""]),
        ):
            with raises(BadArgument, *named):
                world.set_state(wrong)
            assert world.get_state() == state


@pytest.mark.parametrize(
    "wrong",
    [
        lambda words: words[:5],
        lambda words: words.astype(np.int64),
        lambda words: np.append(words[:4], np.array([2, 0], np.uint64)),
        lambda words: np.append(words[:4], np.array([1, 2**32], np.uint64)),
    ],
    ids=["five", "signed", "two halves", "a large half"],
)
def test_words_of_no_generator_are_refused(
    suite: Schedule, wrong: Callable[[Array], Array]
) -> None:
    with closing(suite.world()) as world:
        assert isinstance(world, RestorableCurriculumWorld)
        world.start(cell(0))
        state = read_episode_state(world.get_state())
        with raises(BadArgument, "PCG64"):
            world.set_state(replace(state, generator=wrong(state.generator)).to_bytes())


def test_without_an_episode_there_is_no_state(suite: Schedule) -> None:
    with closing(suite.world()) as world:
        assert isinstance(world, RestorableCurriculumWorld)
        with raises(UsageError, "start"):
            world.get_state()


def test_one_environment_that_is_not_known_inside_can_not_be_kept() -> None:
    unknown = ["gymnasium:Blackjack-v1", 1]
    suite = Schedule(schedule=[*SCHEDULE, unknown], fit="superset")
    with closing(suite.world()) as world:
        assert not isinstance(world, Restorable)

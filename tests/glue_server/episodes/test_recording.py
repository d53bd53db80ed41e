"""The results of slots are the same in whatever lengths their episodes come."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env_adapters import Cell
from glue_server.agent.actions import Checked
from glue_server.episodes.recording import EpisodeRecording, Order
from reglue import Box, Phase, TaskSpec, TensorSpec
from reglue.errors import EnvironmentFault
from tests.error_facts import raises


def spec_of(numbers: int) -> TaskSpec:
    """A task whose actions are so many numbers."""
    action = TensorSpec("action", "float32", (numbers,), Box((-1.0,) * numbers, (1.0,) * numbers))
    seen = TensorSpec("observation", "float32", (1,))
    return TaskSpec(observations=(seen,), actions=(action,), slots=3, continuing=True)


SPEC = spec_of(2)
ORDER = Order(0, 0, Cell("walk", 0, 1, 0, Phase.TRAIN), 0)


def rewards_of(slot: int, steps: int) -> list[float]:
    """Numbers whose sum depends on the order in which they are added."""
    drawn = np.random.default_rng((slot, steps)).standard_normal(steps) * 1e6
    return [float(each) for each in drawn]


def actions_of(slot: int, steps: int, numbers: int = 2) -> Any:
    drawn = np.random.default_rng((slot, steps)).standard_normal((steps, numbers))
    return drawn.astype(np.float32)


def act(recording: EpisodeRecording, slots: list[int], actions: list[Any]) -> None:
    checked = Checked({"action": np.array(actions)}, np.zeros(len(slots), bool))
    recording.act(np.array(slots, np.uint32), checked)


def play(recording: EpisodeRecording, lengths: dict[int, int], numbers: int = 2) -> None:
    """Episodes that began together, each with its length; actions are so many numbers."""
    for slot in lengths:
        recording.begin(slot, ORDER)
    rewards = {slot: rewards_of(slot, steps) for slot, steps in lengths.items()}
    actions = {slot: actions_of(slot, steps, numbers) for slot, steps in lengths.items()}
    for step in range(max(lengths.values())):
        slots = [slot for slot, steps in lengths.items() if step < steps]
        act(recording, slots, [actions[slot][step] for slot in slots])
        earned = np.array([rewards[slot][step] for slot in slots])
        recording.land(np.array(slots, np.uint32), earned, np.zeros(len(slots), bool))


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Yields what tells the bytes that were allocated since then and are still there."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield lambda: tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


BLOCKS = {2: 512, 16: 64}
"""Steps that are put away together, by the numbers of an action."""

lengths = st.integers(1, 200) | st.sampled_from(
    [times * block + more for block in BLOCKS.values() for times in (1, 2) for more in (-1, 0, 1)]
)


@pytest.mark.parametrize("numbers", BLOCKS)
@given(st.lists(st.tuples(lengths, lengths, lengths), min_size=1, max_size=3))
def test_an_outcome_holds_each_step_and_the_sum_in_their_order(
    numbers: int, rounds: list[tuple[int, int, int]]
) -> None:
    recording = EpisodeRecording(spec_of(numbers))
    for each in rounds:
        play(recording, dict(enumerate(each)), numbers)
        for slot, steps in enumerate(each):
            (_, *calls) = recording.recalled(slot)
            outcome = recording.outcome(slot)
            wanted, acted = rewards_of(slot, steps), actions_of(slot, steps, numbers)
            assert outcome.steps == steps
            assert outcome.return_ == reduce(add, wanted, 0.0)
            assert np.frombuffer(outcome.rewards, "<f8").tolist() == wanted
            assert outcome.actions == acted.astype("<f4").tobytes()
            assert [each.reward for each in calls] == wanted


@pytest.mark.parametrize("steps", [0, 5, 511, 512, 513, 1024])
def test_an_action_without_an_answer_is_kept(steps: int) -> None:
    recording = EpisodeRecording(SPEC)
    play(recording, {1: steps})
    act(recording, [1], [np.array([0.5, -0.5], np.float32)])
    *_, last = recording.recalled(1)
    assert not last.is_answered
    outcome = recording.outcome(1, "crashed")
    assert outcome.steps == steps
    assert len(outcome.rewards) == 8 * steps
    assert np.frombuffer(outcome.actions, "<f4")[-2:].tolist() == [0.5, -0.5]


def test_a_long_episode_of_one_slot_makes_no_room_in_others() -> None:
    recording = EpisodeRecording(replace(SPEC, slots=1000))
    with traced() as grown:
        play(recording, {0: 6400})
        assert grown() < 3 * 6400 * 16


@pytest.mark.parametrize("steps", [1000, 1001, 1024, 1088, 1200])
def test_a_forgotten_episode_has_its_sum_and_cannot_be_played_again(steps: int) -> None:
    recording = EpisodeRecording(SPEC, most_kept=1000)
    play(recording, {0: steps, 1: 64})
    assert len([*recording.recalled(1)]) == 65
    if steps == 1000:
        assert len([*recording.recalled(0)]) == 1001
    else:
        with raises(EnvironmentFault, "not replayable", got="more than 1000 steps"):
            [*recording.recalled(0)]
    outcome = recording.outcome(0)
    assert outcome.return_ == reduce(add, rewards_of(0, steps), 0.0)
    assert outcome.steps == steps
    assert len(outcome.rewards) == len(outcome.actions) == (8 * steps if steps == 1000 else 0)
    play(recording, {0: 70})
    assert len(recording.outcome(0).rewards) == 8 * 70


def test_memory_does_not_grow_with_a_forgotten_episode() -> None:
    recording = EpisodeRecording(SPEC, most_kept=1000)
    recording.begin(0, ORDER)
    slots, rewards, success = np.zeros(1, np.uint32), np.ones(1), np.zeros(1, bool)
    sizes = []
    with traced() as grown:
        for step in range(10_000):
            act(recording, [0], [np.zeros(2, np.float32)])
            recording.land(slots, rewards, success)
            if step in (2_000, 9_999):
                sizes.append(grown())
    assert sizes[1] - sizes[0] < 1000
    assert recording.outcome(0).return_ == 10_000


def calls_of(slots: int, steps: int) -> int:
    """Functions of Python's that are called while so many slots take so many steps each, but for
    the first.
    """
    recording = EpisodeRecording(SPEC.with_slots(slots))
    everyone = np.arange(slots, dtype=np.uint32)
    for slot in range(slots):
        recording.begin(slot, ORDER)
    actions = {"action": np.zeros((slots, 2), np.float32)}
    checked = Checked(actions, np.zeros(slots, np.bool_))
    rewards, success = np.ones(slots), np.zeros(slots, np.bool_)
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    recording.act(everyone, checked)
    recording.land(everyone, rewards, success)
    sys.setprofile(count)
    try:
        for _ in range(steps - 1):
            recording.act(everyone, checked)
            recording.land(everyone, rewards, success)
    finally:
        sys.setprofile(None)
    assert recording.outcome(slots - 1).return_ == steps
    return calls


def test_many_slots_are_recorded_by_as_many_calls_as_few() -> None:
    """Also where their blocks are full."""
    assert calls_of(slots=300, steps=200) == calls_of(slots=3, steps=200)

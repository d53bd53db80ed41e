"""An Environment of many slots as a suite, whose worlds are environments of one slot."""

from __future__ import annotations

import numpy as np
import pytest

from env_adapters import Cell
from env_adapters.environment_suite import EnvironmentSuite
from reglue.errors import EnvironmentFault, NotAnEnvironment
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Play, Played
from tests.batches import SPEC, Batch
from tests.error_facts import raises

CELL = Cell("task", 0, seed=3, repeat=1, phase=Phase.EVALUATE)
PUSH = {"action": np.array([0.5], np.float32)}


def test_a_world_plays_what_the_environment_plays_in_one_slot() -> None:
    suite, alone = EnvironmentSuite(Batch(), Batch), Batch()
    world = suite.world()
    assert suite.spec == SPEC
    alone.env_init(1)
    for _ in range(2):  # episodes
        first = alone.env_start({0: CELL})["observation"]
        assert world.start(CELL)["observation"].tolist() == first[0].tolist()
        over = False
        while not over:
            earned = alone.env_step({"action": PUSH["action"][None]}, np.zeros(1, np.uint32))
            step = world.step(PUSH)
            assert step.reward == float(np.asarray(earned.rewards)[0])
            seen = np.asarray(earned.observations["observation"])
            assert step.observation["observation"].tolist() == seen[0].tolist()
            over = bool(np.asarray(earned.terminated)[0])
            assert (step.terminated, step.truncated, step.success) == (over, False, False)


def test_worlds_leave_each_other_alone() -> None:
    suite = EnvironmentSuite(Batch(), Batch)
    one, other = suite.world(), suite.world()
    one.start(CELL)
    before = other.start(CELL)["observation"]
    one.step(PUSH)
    assert other.step(PUSH).observation["observation"][0] == before[0] + 1


def test_a_slot_that_the_environment_reports_as_failed_is_the_worlds_fault() -> None:
    class Reports(Batch):
        """Its steps fail without an exception."""

        def play(self, play: Play) -> Played:
            played = super().play(play)
            return played if play.starts else Played.blank(SPEC, play, {0: "the belt slipped"})

    world = EnvironmentSuite(Reports(), Reports).world()
    world.start(CELL)
    with raises(EnvironmentFault, "the belt slipped"):
        world.step(PUSH)


@pytest.mark.parametrize("lies", [True, False])
def test_slots_are_checked_unless_the_environment_is_known_to_keep_them_apart(lies: bool) -> None:
    class Lies(Batch):
        """A step moves the whole batch, though it says otherwise."""

        whole_turns = False
        separate_slots = not lies

    suite = EnvironmentSuite(Lies(), Lies)
    if lies:
        with pytest.raises(NotAnEnvironment):
            suite.check_slots(2)
    else:
        suite.check_slots(2)

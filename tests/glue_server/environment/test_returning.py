"""An environment that comes in place of a lost one plays what that one was asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glue_server import EnvironmentCalls, LocalEnvironmentPort
from glue_server.environment.returning import ReturningPort
from reglue.environments.slot_worlds import Worlds
from reglue.errors import EnvironmentFault
from reglue.messages.environment_messages import Play
from tests.glue_server.playing import SOLVED, calls_of, cell, corridor_pool
from tests.worlds import Corridor


class Remote(LocalEnvironmentPort):
    """An environment at the end of a stream, which can be lost."""

    is_gone = False

    def __init__(self) -> None:
        super().__init__(Worlds(Corridor(solved=SOLVED)), "remote")

    def send(self, call: Any) -> None:
        self._check()
        super().send(call)

    def receive(self, timeout_s: float) -> Any:
        self._check()
        return super().receive(timeout_s)

    def _check(self) -> None:
        if self.is_gone:
            raise EnvironmentFault("its process has ended")


def step_of(slot: int, action: float) -> Play:
    return Play(np.array([slot], np.uint32), {"action": np.full((1, 1), action, np.float32)}, {})


def bits(calls: EnvironmentCalls) -> list[bytes]:
    played = calls.receive()
    assert not played.faults
    return [rows.tobytes() for rows in (played.rewards, *played.observations.values())]


@pytest.mark.parametrize("is_lost_in_receive", [True, False], ids=["receive", "send"])
@pytest.mark.parametrize("under_way", [1, 2, 3])
def test_each_play_has_its_own_answer_wherever_the_loss_is_noticed(
    under_way: int, is_lost_in_receive: bool
) -> None:
    """Also if more Plays are under way, and the next one is the first that cannot be sent."""
    first = Remote()
    port = ReturningPort(first, Remote, lambda *_: None, timeout_s=1.0)
    calls, alone = calls_of(port, 4), corridor_pool(4)
    start = Play(np.zeros(0, np.uint32), {}, {slot: cell(variant=slot) for slot in range(4)})
    for each in (calls, alone):
        each.play(start)
        for slot in range(under_way):
            each.send(step_of(slot, 0.1 * (slot + 1)))
    if not is_lost_in_receive:
        first.is_gone = True
    for each in (calls, alone):
        each.send(step_of(3, 0.9))
    first.is_gone = True
    for _ in range(under_way + 1):
        assert bits(calls) == bits(alone)
    for slot in range(4):
        for each in (calls, alone):
            each.send(step_of(slot, -0.5))
        assert bits(calls) == bits(alone)

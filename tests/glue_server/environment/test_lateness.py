"""Late answers that are tolerated: the environment is not lost, and the next has its own time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from glue_server import EnvironmentCalls, LocalEnvironmentPort
from glue_server.environment import environment_calls
from reglue.errors import EnvironmentTimeout
from reglue.messages.agent_messages import Cleanup
from reglue.messages.environment_messages import EnvironmentCall, EnvironmentReply, Play
from tests.glue_server.environment.halls import Hall
from tests.glue_server.playing import cell, start, step

LIMIT_S = 10.0


class Late(LocalEnvironmentPort):
    """Uses up all of the time for the first Plays, by the clock `now`."""

    def __init__(self, hall: Hall, now: list[float], times: int) -> None:
        super().__init__(hall, "late")
        self._now = now
        self._left = times
        self.sent: list[EnvironmentCall] = []

    def send(self, call: EnvironmentCall) -> None:
        self.sent.append(call)
        super().send(call)

    def receive(self, timeout_s: float) -> EnvironmentReply:
        if not (isinstance(self.sent[-1], Play) and self._left):
            return super().receive(timeout_s)
        self._left -= 1
        self._now[0] += timeout_s
        super().receive(timeout_s)
        raise EnvironmentTimeout(f"no answer within {timeout_s:g} s")

    def is_ready(self) -> bool:
        return not self._left


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, of a clock that stands still."""
    now = [100.0]
    monkeypatch.setattr(environment_calls, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def late(now: list[float], times: int) -> tuple[EnvironmentCalls, Late]:
    port = Late(Hall(), now, times)
    return EnvironmentCalls(port, timeout_s=LIMIT_S, most_late=3).opened(2), port


def test_the_play_after_a_late_one_has_its_own_time(now: list[float]) -> None:
    pool, _ = late(now, times=2)
    pool.send(start(cell()))
    pool.send(step())
    assert pool.receive().faults.keys() == {0}
    assert not pool.is_ready()
    now[0] += LIMIT_S
    assert pool.is_ready()  # its time is up


def test_an_environment_that_was_late_is_cleaned_up(now: list[float]) -> None:
    pool, port = late(now, times=1)
    assert pool.play(start(cell())).faults.keys() == {0}
    pool.close()
    assert port.sent[-1] == Cleanup()


def test_one_that_is_late_too_often_is_lost(now: list[float]) -> None:
    pool, port = late(now, times=9)
    for _ in range(2):
        assert pool.play(start(cell())).faults.keys() == {0}
    with pytest.raises(EnvironmentTimeout):
        pool.play(start(cell()))
    pool.close()
    assert Cleanup() not in port.sent


def test_an_answer_in_time_forgives_those_before_it(now: list[float]) -> None:
    pool, _ = late(now, times=2)
    faults = [bool(pool.play(start(cell())).faults) for _ in range(4)]
    assert faults == [True, True, False, False]

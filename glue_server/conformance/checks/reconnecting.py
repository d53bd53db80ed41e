"""Connections break; every call is carried out once."""

from __future__ import annotations

import time
from functools import partial

from glue_server.conformance.check import Check, group
from glue_server.conformance.checks.joining import wait_for
from glue_server.conformance.fault_injection import losing_answer
from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import PLAIN
from reglue.messages.agent import TextMessage

_TASK = PLAIN.with_slots(8)
_COMPUTING_MS = 150


def idle(stage: Harness) -> None:
    """Comes back when the connection is cut between calls."""
    talk = stage.talk()
    talk.begin(_TASK)
    for _ in range(3):
        stage.road.cut()
        talk.play(2)
    talk.counts()


def under_way(stage: Harness) -> None:
    """Comes back with its answer when the connection is cut while it computes."""
    talk = stage.talk()
    talk.begin(_TASK)
    for wait_s in (0.0, _COMPUTING_MS / 2000, _COMPUTING_MS / 1000):
        talk.send(TextMessage(f"sleep {_COMPUTING_MS}"))
        time.sleep(wait_s)
        stage.road.cut()
        talk.take()
        talk.play()
    talk.counts()


def answer_lost(stage: Harness) -> None:
    """Answers a call that comes again from memory, and does not carry it out again."""
    _lose_answers(1, stage)


def ended(stage: Harness) -> None:
    """Comes back when its stream ends without a farewell, as when another stream takes over."""
    talk = stage.talk()
    talk.begin(_TASK)
    for _ in range(2):
        talk.port._connection.end()
        talk.play(2)
    talk.counts()


def while_away(stage: Harness) -> None:
    """Keeps trying while the glue cannot be reached."""
    talk = stage.talk()
    talk.begin(_TASK)
    talk.play(2)
    target, before = stage.road.target, stage.road.turned_away
    stage.road.target = ""
    stage.road.cut()
    talk.go()
    wait_for(lambda: stage.road.turned_away >= before + 3, stage, "3 tries to come back")
    stage.road.target = target
    talk.take()
    talk.play(2)
    talk.counts()


def long_silence(stage: Harness) -> None:
    """Comes back however long it has waited: the reconnect window counts from each break."""
    reconnect_window_s = 2.0
    stage.fresh(reconnect_window_s=reconnect_window_s)
    talk = stage.talk()
    talk.begin(_TASK)
    stage.road.cut()
    time.sleep(1.25 * reconnect_window_s)
    stage.road.cut()
    talk.play(2)
    talk.counts()


def often(stage: Harness) -> None:
    """Plays on through a dozen cuts at any moment."""
    talk = stage.talk()
    talk.begin(_TASK)
    for each in range(12):
        talk.go()
        time.sleep(0.0004 * each)
        stage.road.cut()
        talk.take()
        talk.play(3)
    talk.counts()


def forgotten(stage: Harness) -> None:
    """Joins anew where its session is not known any more."""
    talk = stage.talk()
    talk.begin(_TASK)
    talk.play(2)
    server = stage.serve()
    stage.road.cut()
    stage.receive(server)
    talk.begin(_TASK)
    talk.play(2)
    talk.counts()


def farewell(stage: Harness) -> None:
    """Comes back for the farewell."""
    visit = stage.visit()
    stage.road.cut()
    visit.bid_farewell()


def no_window(stage: Harness) -> None:
    """Leaves when its connection breaks, where Ticket.reconnect_window_us is 0."""
    visit = stage.fresh(reconnect_window_s=0.0)
    stage.talk().begin(_TASK)
    stage.road.cut()
    visit.see_it_fail()


def _lose_answers(calls: int, stage: Harness) -> None:
    talk = stage.talk()
    talk.begin(_TASK)
    groups = [range(first, 8, calls) for first in range(calls)]
    for _ in range(3):
        with losing_answer(talk.port, stage.road):
            for slots in groups:
                talk.go(slots)
            for _ in groups:
                talk.take()
    talk.counts()


def _lost(name: str, calls: int) -> Check:
    sentence = f"Answers {calls} calls that come again from memory, in their order"
    return Check(f"reconnect.{name}", sentence, partial(_lose_answers, calls))


RECONNECTING = (
    *group("reconnect", idle, under_way, answer_lost),
    _lost("two-answers-lost", 2),
    _lost("four-answers-lost", 4),
    *group("reconnect", ended, while_away, long_silence, often, forgotten, farewell, no_window),
)

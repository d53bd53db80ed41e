"""A benchmark program's connections break; every routine is carried out once."""

from __future__ import annotations

import time

from glue_server.conformance.checks.reconnecting import (
    ended,
    long_silence,
    no_window,
    often,
    while_away,
)
from glue_server.conformance.fault_injection import bent_answers, losing_answer
from glue_server.conformance.harness import Harness
from glue_server.conformance.instructions import Pause
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.verdicts import group
from reglue.messages.agent import TextMessage
from reglue.messages.experiment import RLEpisode

_TASK = PLAIN.with_slots(4)
_BUSY_MS = 150


def between_calls(stage: Harness) -> None:
    """Comes back when the connection is cut between calls."""
    talk = stage.talk()
    talk.begin(_TASK)
    for _ in range(3):
        talk.send(Pause(_BUSY_MS))
        time.sleep(_BUSY_MS / 2000)
        stage.road.cut()
        talk.take()
        talk.play(2)
    talk.counts()


def under_way(stage: Harness) -> None:
    """Comes back for the answer when the connection is cut while the glue carries a call out."""
    talk = stage.talk()
    talk.begin(_TASK)
    for wait_s in (0.0, _BUSY_MS / 2000, _BUSY_MS / 1000):
        talk.send(TextMessage(f"sleep {_BUSY_MS}"))
        time.sleep(wait_s)
        stage.road.cut()
        talk.take()
        talk.play()
    talk.counts()


def call_lost(stage: Harness) -> None:
    """Sends a call that got lost once more, under its number."""
    talk = stage.talk()
    talk.begin(_TASK)
    for _ in range(3):
        talk.send(RLEpisode(4))
        with losing_answer(talk.port, stage.road):
            talk.take()
        talk.play(2)
    talk.counts()


def answer_lost(stage: Harness) -> None:
    """Sends a call whose answer got lost once more, under its number."""
    talk = stage.talk()
    talk.begin(_TASK)
    for _ in range(3):
        talk.send(RLEpisode(4))
        with bent_answers(talk.port, lambda _: stage.road.cut()):
            talk.take()
        talk.play(2)
    talk.counts()


def forgotten(stage: Harness) -> None:
    """Leaves where its session is not known any more: its run is lost."""
    talk = stage.talk()
    talk.begin(_TASK)
    talk.play(2)
    stage.serve()
    stage.road.cut()
    stage.visit().see_it_fail()


PROGRAM_CUTS = group(
    "reconnect",
    between_calls,
    under_way,
    call_lost,
    answer_lost,
    ended,
    while_away,
    long_silence,
    often,
    forgotten,
    no_window,
)

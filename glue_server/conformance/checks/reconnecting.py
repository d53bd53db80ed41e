"""Connections break; every call is carried out once."""

from __future__ import annotations

import time
from functools import partial

from glue_server.conformance.check import Check, group
from glue_server.conformance.checks.joining import wait_for
from glue_server.conformance.conformance_tasks import PLAIN
from glue_server.conformance.fault_injection import losing_answer
from glue_server.conformance.harness import Harness
from reglue.messages.agent_messages import TextMessage

_TASK = PLAIN.with_slots(8)
_COMPUTING_MS = 150


def idle(harness: Harness) -> None:
    """Reconnects when the connection is cut between calls."""
    driver = harness.begin(_TASK)
    for _ in range(3):
        harness.proxy.cut()
        driver.play(2)
    driver.counts()


def under_way(harness: Harness) -> None:
    """Reconnects and answers when the connection is cut while it computes."""
    driver = harness.begin(_TASK)
    for wait_s in (0.0, _COMPUTING_MS / 2000, _COMPUTING_MS / 1000):
        driver.send(TextMessage(f"sleep {_COMPUTING_MS}"))
        time.sleep(wait_s)
        harness.proxy.cut()
        driver.take()
        driver.play()
    driver.counts()


def answer_lost(harness: Harness) -> None:
    """Answers a repeated call from memory, without carrying it out again."""
    _lose_answers(1, harness)


def ended(harness: Harness) -> None:
    """Reconnects when its stream ends without a farewell, as when another stream replaces it."""
    driver = harness.begin(_TASK)
    for _ in range(2):
        driver.port._stream.end()
        driver.play(2)
    driver.counts()


def while_away(harness: Harness) -> None:
    """Keeps trying while the glue cannot be reached."""
    driver = harness.begin(_TASK)
    driver.play(2)
    target, before = harness.proxy.target, harness.proxy.refused
    harness.proxy.target = ""
    harness.proxy.cut()
    driver.go()
    wait_for(lambda: harness.proxy.refused >= before + 3, harness, "3 tries to come back")
    harness.proxy.target = target
    driver.take()
    driver.play(2)
    driver.counts()


def long_silence(harness: Harness) -> None:
    """Reconnects after a long silence: the reconnect window counts from each break."""
    reconnect_window_s = 2.0
    harness.new_client(reconnect_window_s=reconnect_window_s)
    driver = harness.begin(_TASK)
    harness.proxy.cut()
    time.sleep(1.25 * reconnect_window_s)
    harness.proxy.cut()
    driver.play(2)
    driver.counts()


def often(harness: Harness) -> None:
    """Plays on through a dozen cuts at any moment."""
    driver = harness.begin(_TASK)
    for each in range(12):
        driver.go()
        time.sleep(0.0004 * each)
        harness.proxy.cut()
        driver.take()
        driver.play(3)
    driver.counts()


def forgotten(harness: Harness) -> None:
    """Joins anew if the glue does not know its session any more."""
    driver = harness.begin(_TASK)
    driver.play(2)
    server = harness.serve()
    harness.proxy.cut()
    harness.admit(server)
    driver.begin(_TASK)
    driver.play(2)
    driver.counts()


def farewell(harness: Harness) -> None:
    """Reconnects for the farewell."""
    run = harness.run()
    harness.proxy.cut()
    run.say_farewell()


def no_window(harness: Harness) -> None:
    """Leaves when its connection breaks, if Ticket.reconnect_window_us is 0."""
    run = harness.new_client(reconnect_window_s=0.0)
    harness.begin(_TASK)
    harness.proxy.cut()
    run.expect_failure()


def _lose_answers(calls: int, harness: Harness) -> None:
    driver = harness.begin(_TASK)
    groups = [range(first, 8, calls) for first in range(calls)]
    for _ in range(3):
        with losing_answer(driver.port, harness.proxy):
            for slots in groups:
                driver.go(slots)
            for _ in groups:
                driver.take()
    driver.counts()


def _lost(name: str, calls: int) -> Check:
    sentence = f"Answers {calls} repeated calls from memory, in order"
    return Check(f"reconnect.{name}", sentence, partial(_lose_answers, calls))


RECONNECTING = (
    *group("reconnect", idle, under_way, answer_lost),
    _lost("two-answers-lost", 2),
    _lost("four-answers-lost", 4),
    *group("reconnect", ended, while_away, long_silence, often, forgotten, farewell, no_window),
)

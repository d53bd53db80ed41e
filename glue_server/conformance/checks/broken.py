"""Calls and answers that no client can read: it leaves, and does not come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from glue_server.conformance.check import Check
from glue_server.conformance.clients import POLL_S, ClientRun
from glue_server.conformance.conformance_tasks import PLAIN
from glue_server.conformance.drivers.experiment_driver import Instruction
from glue_server.conformance.fault_injection import bent, bent_answers, recording_messages
from glue_server.conformance.harness import Harness
from reglue.errors import NotConforming
from reglue.messages.agent_messages import AgentInit, TextMessage
from reglue.messages.experiment_messages import RLEpisode, RLInit, RLStart, RLStep

_UNKNOWN = 77
_NO_SLOT = 9
_HUGE = 2**31


@dataclass(frozen=True)
class _Bad:
    """An alteration of a good call; by default of a turn or a Play."""

    what: str
    bend: Callable[[Any], object]
    before_init: Any = None  # the call instead, which comes before init


def _clear(message: Any) -> None:
    message.ClearField(message.WhichOneof("call"))


def _without_last(entries: Any) -> None:
    entries[0] = entries[0][:-1]


_EITHER: Mapping[str, _Bad] = {"unknown-call": _Bad("an unknown call", _clear)}

_BAD: Mapping[str, Mapping[str, _Bad]] = {
    "agent": {
        **_EITHER,
        "unknown-phase": _Bad(
            "an unknown phase",
            lambda message: setattr(message.turn, "phase", _UNKNOWN),
        ),
        "unknown-end-kind": _Bad(
            "an end of an unknown kind",
            lambda message: message.turn.end_kinds.__setitem__(0, _UNKNOWN),
        ),
        "short-observation": _Bad(
            "an observation that lacks a byte",
            lambda message: _without_last(message.turn.observations),
        ),
        "no-rewards": _Bad(
            "a turn that lacks its rewards",
            lambda message: message.turn.ClearField("rewards"),
        ),
        "no-such-slot": _Bad(
            "an unknown slot",
            lambda message: message.turn.step_slots.__setitem__(0, _NO_SLOT),
        ),
        "before-init": _Bad(
            "a turn before init",
            lambda message: message.turn.SetInParent(),
            TextMessage(""),
        ),
        "huge-shape": _Bad(
            "a TaskSpec with a shape too large for any message",
            lambda message: message.init.spec.observations[0].shape.extend([_HUGE, _HUGE]),
            AgentInit(PLAIN),
        ),
        "unknown-dtype": _Bad(
            "a TaskSpec with an unknown dtype",
            lambda message: setattr(message.init.spec.actions[0], "dtype", _UNKNOWN),
            AgentInit(PLAIN),
        ),
    },
    "environment": {
        **_EITHER,
        "unknown-phase": _Bad(
            "an unknown phase",
            lambda message: setattr(message.play.cells[0], "phase", _UNKNOWN),
        ),
        "short-action": _Bad(
            "an action that lacks a byte",
            lambda message: _without_last(message.play.actions),
        ),
        "no-such-slot": _Bad(
            "an unknown slot",
            lambda message: message.play.step_slots.__setitem__(0, _NO_SLOT),
        ),
        "before-init": _Bad(
            "a Play before init",
            lambda message: message.play.SetInParent(),
            TextMessage(""),
        ),
    },
}


def _leaves(bad: _Bad, harness: Harness) -> None:
    run = harness.new_client()
    driver = harness.driver()
    if bad.before_init is None:
        driver.begin(PLAIN.with_slots(3))
        driver.start_all()
    with recording_messages(driver.port) as received:
        with bent(driver.port, bad.bend):
            driver.port.send(bad.before_init or driver.of_every_kind())
        _wait(run, received, harness.timeout_s)
        answers = [each.WhichOneof("reply") for each in received]
        if answers not in ([], ["fault"]):
            raise NotConforming(f"the reply to {bad.what}", got=answers, wanted="none, or a Fault")
        if answers:
            driver.port.close("that was not meant to be answered")
        run.expect_failure()


def _wait(run: ClientRun, received: list[Any], timeout_s: float) -> None:
    """Wait until the client has answered or left."""
    deadline = time.monotonic() + timeout_s
    while not received and not run.has_left() and time.monotonic() < deadline:
        time.sleep(POLL_S)


def broken_checks(role: str) -> tuple[Check, ...]:
    """The checks for a role."""
    return tuple(
        Check(f"broken.{name}", f"Leaves at {bad.what}", partial(_leaves, bad))
        for name, bad in _BAD[role].items()
    )


_STEP = RLStep()


@dataclass(frozen=True)
class _BadAnswer:
    """An alteration of a good answer."""

    what: str
    bend: Callable[[Any], object]
    call: Instruction = _STEP


def _clear_answer(reply: Any) -> None:
    reply.ClearField(reply.WhichOneof("reply"))


def _cut(part: str, field: str, reply: Any) -> None:
    """Remove the last byte."""
    body = getattr(reply, part)
    entry = getattr(body, field)
    if isinstance(entry, bytes):
        setattr(body, field, entry[:-1])
    else:
        entry[0] = entry[0][:-1]


_BAD_ANSWERS: Mapping[str, _BadAnswer] = {
    "unknown-answer": _BadAnswer("an unknown answer", _clear_answer),
    "another-answer": _BadAnswer(
        "an answer to another routine", lambda reply: reply.done.SetInParent(), RLStart()
    ),
    "short-observation": _BadAnswer(
        "an answer whose observation lacks a byte",
        partial(_cut, "started", "observations"),
        RLStart(),
    ),
    "short-action": _BadAnswer(
        "an answer whose action lacks a byte", partial(_cut, "stepped", "actions")
    ),
    "short-reward": _BadAnswer(
        "an answer whose rewards lack a byte", partial(_cut, "stepped", "rewards")
    ),
    "short-flags": _BadAnswer(
        "an answer whose flags lack a row", partial(_cut, "episode", "flags"), RLEpisode(3)
    ),
    "no-tensors": _BadAnswer(
        "an answer to a step without observations",
        lambda reply: reply.stepped.ClearField("observations"),
    ),
    "huge-shape": _BadAnswer(
        "a TaskSpec as answer, with a shape too large for any message",
        lambda reply: reply.spec.observations[0].shape.extend([_HUGE, _HUGE]),
        RLInit(1, 0),
    ),
    "unknown-dtype": _BadAnswer(
        "a TaskSpec as answer, with an unknown dtype",
        lambda reply: setattr(reply.spec.actions[0], "dtype", _UNKNOWN),
        RLInit(1, 0),
    ),
}


def _leaves_at_answer(bad: _BadAnswer, harness: Harness) -> None:
    run = harness.new_client()
    driver = harness.begin(PLAIN.with_slots(3))
    driver.ask(RLStart())
    driver.send(bad.call)
    with bent_answers(driver.port, bad.bend):
        driver.answer()
    driver.wait_until_gone(run)
    run.expect_failure()


BROKEN_ANSWERS = tuple(
    Check(f"broken.{name}", f"Leaves at {bad.what}", partial(_leaves_at_answer, bad))
    for name, bad in _BAD_ANSWERS.items()
)

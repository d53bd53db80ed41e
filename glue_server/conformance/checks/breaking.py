"""Calls that no client can answer rightly: it leaves, and does not come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from glue_server.conformance.fault_injection import bent, overheard
from glue_server.conformance.harness import Harness
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.verdicts import Check
from glue_server.conformance.visit import POLL_S, Visit
from reglue.errors import NotConforming
from reglue.messages.agent import AgentInit, TextMessage

_UNKNOWN = 77
_NO_SLOT = 9
_HUGE = 2**31


@dataclass(frozen=True)
class _Bad:
    """A call that was good before it was bent; a turn or a Play unless another is named."""

    what: str
    bend: Callable[[Any], object]
    call: Any = None
    is_before_init: bool = False


def _clear(message: Any) -> None:
    message.ClearField(message.WhichOneof("call"))


def _without_last(entries: Any) -> None:
    entries[0] = entries[0][:-1]


_EITHER: Mapping[str, _Bad] = {"unknown-call": _Bad("a call that it does not know", _clear)}

_BAD: Mapping[str, Mapping[str, _Bad]] = {
    "agent": {
        **_EITHER,
        "unknown-phase": _Bad(
            "a phase that it does not know",
            lambda message: setattr(message.turn, "phase", _UNKNOWN),
        ),
        "unknown-end-kind": _Bad(
            "an end of a kind that it does not know",
            lambda message: message.turn.end_kinds.__setitem__(0, _UNKNOWN),
        ),
        "short-observation": _Bad(
            "an observation that lacks a byte",
            lambda message: _without_last(message.turn.observations),
        ),
        "no-rewards": _Bad(
            "a turn without rewards that are not withheld",
            lambda message: message.turn.ClearField("rewards"),
        ),
        "no-such-slot": _Bad(
            "a slot that there is not",
            lambda message: message.turn.step_slots.__setitem__(0, _NO_SLOT),
        ),
        "before-init": _Bad(
            "a turn before init",
            lambda message: message.turn.SetInParent(),
            TextMessage(""),
            is_before_init=True,
        ),
        "huge-shape": _Bad(
            "a TaskSpec of a shape that no message can hold",
            lambda message: message.init.spec.observations[0].shape.extend([_HUGE, _HUGE]),
            AgentInit(PLAIN),
            is_before_init=True,
        ),
        "unknown-dtype": _Bad(
            "a TaskSpec of a dtype that it does not know",
            lambda message: setattr(message.init.spec.actions[0], "dtype", _UNKNOWN),
            AgentInit(PLAIN),
            is_before_init=True,
        ),
    },
    "environment": {
        **_EITHER,
        "unknown-phase": _Bad(
            "a phase that it does not know",
            lambda message: setattr(message.play.cells[0], "phase", _UNKNOWN),
        ),
        "short-action": _Bad(
            "an action that lacks a byte",
            lambda message: _without_last(message.play.actions),
        ),
        "no-such-slot": _Bad(
            "a slot that there is not",
            lambda message: message.play.step_slots.__setitem__(0, _NO_SLOT),
        ),
        "before-init": _Bad(
            "a Play before init",
            lambda message: message.play.SetInParent(),
            TextMessage(""),
            is_before_init=True,
        ),
    },
}


def _leaves(bad: _Bad, stage: Harness) -> None:
    visit = stage.fresh()
    talk = stage.talk()
    if not bad.is_before_init:
        talk.begin(PLAIN.with_slots(3))
        talk.start_all()
    with overheard(talk.port) as heard:
        with bent(talk.port, bad.bend):
            talk.port.send(bad.call or talk.of_every_kind())
        _wait(visit, heard, stage.patience_s)
        answers = [each.WhichOneof("reply") for each in heard]
        if answers not in ([], ["fault"]):
            raise NotConforming(f"the reply to {bad.what}", got=answers, wanted="none, or a Fault")
        if answers:
            talk.port.close("that was not meant to be answered")
        visit.see_it_fail()


def _wait(visit: Visit, heard: list[Any], patience_s: float) -> None:
    """Until something is heard, or the client has gone."""
    deadline = time.monotonic() + patience_s
    while not heard and not visit.has_gone() and time.monotonic() < deadline:
        time.sleep(POLL_S)


def broken_checks(role: str) -> tuple[Check, ...]:
    """What is asked of a role."""
    return tuple(
        Check(f"broken.{name}", f"Leaves at {bad.what}", partial(_leaves, bad))
        for name, bad in _BAD[role].items()
    )

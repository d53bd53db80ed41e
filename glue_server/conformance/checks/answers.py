"""Answers that no benchmark program can read: it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from glue_server.conformance.fault_injection import bent_answers
from glue_server.conformance.harness import Harness
from glue_server.conformance.instructions import Instruction
from glue_server.conformance.specs import PLAIN
from glue_server.conformance.verdicts import Check
from reglue.messages.experiment import RLEpisode, RLInit, RLStart, RLStep

_UNKNOWN = 77
_HUGE = 2**31
_STEP = RLStep()


@dataclass(frozen=True)
class _Bad:
    """An answer that was good before it was bent."""

    what: str
    bend: Callable[[Any], object]
    call: Instruction = _STEP


def _clear(reply: Any) -> None:
    reply.ClearField(reply.WhichOneof("reply"))


def _cut(part: str, field: str, reply: Any) -> None:
    """A byte less."""
    body = getattr(reply, part)
    entry = getattr(body, field)
    if isinstance(entry, bytes):
        setattr(body, field, entry[:-1])
    else:
        entry[0] = entry[0][:-1]


_BAD: Mapping[str, _Bad] = {
    "unknown-answer": _Bad("an answer that it does not know", _clear),
    "another-answer": _Bad(
        "an answer to another routine", lambda reply: reply.done.SetInParent(), RLStart()
    ),
    "short-observation": _Bad(
        "an answer whose observation lacks a byte",
        partial(_cut, "started", "observations"),
        RLStart(),
    ),
    "short-action": _Bad(
        "an answer whose action lacks a byte", partial(_cut, "stepped", "actions")
    ),
    "short-reward": _Bad(
        "an answer whose rewards lack a byte", partial(_cut, "stepped", "rewards")
    ),
    "short-flags": _Bad(
        "an answer whose flags lack a row", partial(_cut, "episode", "flags"), RLEpisode(3)
    ),
    "no-tensors": _Bad(
        "an answer to a step without observations",
        lambda reply: reply.stepped.ClearField("observations"),
    ),
    "huge-shape": _Bad(
        "an answer that is a TaskSpec of a shape that no message can hold",
        lambda reply: reply.spec.observations[0].shape.extend([_HUGE, _HUGE]),
        RLInit(1, 0),
    ),
    "unknown-dtype": _Bad(
        "an answer that is a TaskSpec of a dtype that it does not know",
        lambda reply: setattr(reply.spec.actions[0], "dtype", _UNKNOWN),
        RLInit(1, 0),
    ),
}


def _leaves(bad: _Bad, stage: Harness) -> None:
    visit = stage.fresh()
    talk = stage.talk()
    talk.begin(PLAIN.with_slots(3))
    talk.ask(RLStart())
    talk.send(bad.call)
    with bent_answers(talk.port, bad.bend):
        talk.answer()
    talk.see_it_go(visit)
    visit.see_it_fail()


BROKEN_ANSWERS = tuple(
    Check(f"broken.{name}", f"Leaves at {bad.what}", partial(_leaves, bad))
    for name, bad in _BAD.items()
)

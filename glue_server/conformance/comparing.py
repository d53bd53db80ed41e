"""A client's reply beside its twin's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reglue.errors import NotConforming
from reglue.messages.agent import Actions, Refusal, TextMessage, Turn
from reglue.messages.environment import EnvironmentReady, Play, Played, Snapshot
from reglue.spec import Arrays, Box, TaskSpec, TensorSpec

_MOST = 6  # elements and characters × 20 that are shown


def check_reply(call: Any, got: Any, wanted: Any) -> None:
    """Raise NotConforming where `got` is not what the call wants."""
    match got, wanted:
        case Actions(), Actions():
            check_arrays("action", got.arrays, wanted.arrays, _acting(call))
            check_same("Actions.abandon", got.abandon, wanted.abandon)
        case Played(), Played():
            _check_played(call, got, wanted)
        case EnvironmentReady(), EnvironmentReady():
            check_spec(got.spec, wanted.spec)
            check_same("tasks", list(got.variants.items()), list(wanted.variants.items()))
            check_same("abilities", _abilities(got), _abilities(wanted))
        case Refusal(), Refusal():
            check_same("the refusal's code", got.code, wanted.code)
        case Snapshot(), Snapshot():
            pass  # opaque
        case TextMessage(), TextMessage():
            check_same("the answer", got.text, wanted.text)
        case _:
            check_same(f"the reply to {type(call).__name__}", got, wanted)


def check_same(what: str, got: object, wanted: object) -> None:
    """Raise NotConforming unless both are equal."""
    if got != wanted:
        raise NotConforming(what, got=_short(got), wanted=_short(wanted))


def check_spec(got: TaskSpec, wanted: TaskSpec) -> None:
    """Raise NotConforming at what differs first. Bounds that say the same are the same."""
    if got == wanted:
        return
    for kind in ("observations", "actions"):
        pairs = zip(_expanded(getattr(got, kind)), _expanded(getattr(wanted, kind)), strict=False)
        for mine, theirs in pairs:
            check_same(f"the TaskSpec's {theirs.name!r}", mine, theirs)
        check_same(f"{kind} of the TaskSpec", len(getattr(got, kind)), len(getattr(wanted, kind)))
    rest = {"observations": wanted.observations, "actions": wanted.actions}
    check_same("the TaskSpec", replace(got, **rest), wanted)  # type: ignore[arg-type]


def check_arrays(what: str, got: Arrays, wanted: Arrays, rows: Sequence[str]) -> None:
    """Raise NotConforming at the first row of which a bit differs."""
    for name, values in wanted.items():
        for row, mine, theirs in zip(rows, got[name], values, strict=True):
            if np.asarray(mine).tobytes() != np.asarray(theirs).tobytes():
                raise NotConforming(
                    f"{what} {name!r}, {row}", got=_elements(mine), wanted=_elements(theirs)
                )


def _check_played(play: Play, got: Played, wanted: Played) -> None:
    check_same("slots that failed", dict(got.faults).keys(), dict(wanted.faults).keys())
    steps = [f"step of slot {slot}" for slot in play.slots.tolist()]
    rows = [*steps, *(f"start of slot {slot}" for slot in play.starts)]
    kept = [
        row
        for row, slot in enumerate((*play.slots.tolist(), *play.starts))
        if slot not in wanted.faults
    ]
    check_arrays(
        "observation",
        _taken(got.observations, kept),
        _taken(wanted.observations, kept),
        [rows[row] for row in kept],
    )
    kept = [row for row in kept if row < len(steps)]
    for what in ("rewards", "terminated", "truncated", "success"):
        mine, theirs = {what: getattr(got, what)}, {what: getattr(wanted, what)}
        check_arrays(
            "the column", _taken(mine, kept), _taken(theirs, kept), [rows[row] for row in kept]
        )


def _taken(arrays: Arrays, rows: Sequence[int]) -> Arrays:
    return {name: values[rows] for name, values in arrays.items()}


def _acting(turn: Turn) -> list[str]:
    return [
        *(f"step of slot {slot}" for slot in turn.steps.slots.tolist()),
        *(f"start of slot {slot}" for slot in turn.starts.slots.tolist()),
    ]


def _abilities(ready: EnvironmentReady) -> dict[str, bool]:
    names = ("restores", "portable", "seeds", "standardizes", "tells_success")
    return {name: getattr(ready, name) for name in names}


def _expanded(tensors: Sequence[TensorSpec]) -> list[TensorSpec]:
    """Boxes with a bound for each element."""
    return [
        replace(tensor, domain=Box(_all(tensor.low()), _all(tensor.high())))
        if isinstance(tensor.domain, Box)
        else tensor
        for tensor in tensors
    ]


def _all(bounds: Any) -> tuple[float, ...]:
    return tuple(bounds.ravel().tolist())


def _elements(values: Any) -> str:
    flat = np.asarray(values).ravel().tolist()
    return f"{flat[:_MOST]}" + (f" … ({len(flat)} elements)" if len(flat) > _MOST else "")


def _short(value: object) -> str:
    text = repr(value)
    most = 20 * _MOST
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"

"""Comparison of a client's answers, calls and reports with the ones wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reglue.conformance.words import (
    counts_words,
    rows_word,
    spec_of_text,
    started_words,
    stepped_words,
    tasks_words,
)
from reglue.errors import (
    ROUTINE_REFUSALS,
    AgentFault,
    EnvironmentFault,
    NotConforming,
    RoutineRefused,
    SpecError,
)
from reglue.messages.agent_messages import Actions, Refusal, TextMessage, Turn
from reglue.messages.environment_messages import EnvironmentReady, Play, Played, Snapshot
from reglue.messages.experiment_messages import (
    Acted,
    Counts,
    EpisodePlayed,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLEnvStep,
    SnapshotKey,
    Started,
    Stepped,
    Tasks,
)
from reglue.spec import Arrays, Box, TaskSpec, TensorSpec

_STEPPED = ("slots", "rewards", "observations", "flags", "actions")
_STARTED = ("slots", "observations", "actions")
_SHOWN = 120  # characters
_MOST = 6  # elements of an array that are shown


def check_reply(call: Any, got: Any, wanted: Any) -> None:
    """Raise NotConforming if `got` is not the wanted reply."""
    match got, wanted:
        case Actions(), Actions():
            check_arrays("action", got.arrays, wanted.arrays, _acting(call))
            check_same("Actions.abandon", got.abandon, wanted.abandon)
            check_same("Actions.held", got.held, wanted.held)
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


def check_refused(call: Any, reply: Any, code: str) -> None:
    """Raise NotConforming unless `reply` refuses the call with that code."""
    check_same(f"the reply to {type(call).__name__}", getattr(reply, "code", reply), code)


def check_same(what: str, got: object, wanted: object) -> None:
    """Raise NotConforming unless both are equal."""
    if got != wanted:
        raise NotConforming(what, got=short(got), wanted=short(wanted))


def check_spec(got: TaskSpec, wanted: TaskSpec) -> None:
    """Raise NotConforming at the first difference. Equivalent bounds are equal."""
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
    """Raise NotConforming at the first row in which a bit differs."""
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
    names = "restores portable seeds standardizes tells_success whole_turns repeatable".split()
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


def short(value: object) -> str:
    """Python's `repr` of a value, cut."""
    return cut(repr(value))


def cut(text: str) -> str:
    """The beginning of a long text, and how long it is."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def check_report(routine: str, got: str, answer: Any, spec: TaskSpec) -> None:
    """Raise NotConforming if the report differs from the answer."""
    what = f"what it saw of {routine}"
    match answer:
        case RoutineRefused():
            code = answer.code if answer.code in ROUTINE_REFUSALS else ""
            _check_words(what, got, f"refused {code}".rstrip(), answer.got, answer.wanted)
        case AgentFault():
            _check_words(what, got, "agent fault", str(answer))
        case EnvironmentFault():
            _check_words(what, got, "environment fault", str(answer))
        case TaskSpec():
            check_spec(read_spec(what, got), answer)
        case Started():
            check_parts(what, got, started_words(spec, answer), _STARTED)
        case Stepped():
            check_parts(what, got, stepped_words(spec, answer), _STEPPED)
        case Acted(slots, actions):
            check_parts(what, got, rows_word(spec.actions, actions, len(slots)), ("actions",))
        case EpisodePlayed():
            check_same(what, got, str(int((answer.terminated | answer.truncated).all())))
        case Counts():
            check_same(what, _numbers(got), _numbers(counts_words(answer)))
        case Tasks():
            check_same(what, got, tasks_words(answer))
        case SnapshotKey(text) | TextMessage(text):
            check_same(what, got, text)
        case _:
            check_same(what, got, "")


def check_call(routine: str, got: Any, wanted: Any) -> None:
    """Raise NotConforming for another call, or one with other arguments."""
    what = f"the call of {routine}"
    if type(got) is not type(wanted):
        raise NotConforming(what, got=short(got), wanted=type(wanted).__name__)
    match got, wanted:
        case RLEnvStep(slots, rows), RLEnvStep(slots_wanted, rows_wanted):
            _check_rows(what, (slots, rows), (slots_wanted, rows_wanted))
        case RLAgentStart(slots, rows), RLAgentStart(slots_wanted, rows_wanted):
            _check_rows(what, (slots, rows), (slots_wanted, rows_wanted))
        case (RLAgentStep(), RLAgentStep()) | (RLAgentEnd(), RLAgentEnd()):
            mine = {**got.observations, "its rewards": got.rewards}
            theirs = {**wanted.observations, "its rewards": wanted.rewards}
            _check_rows(what, (got.slots, mine), (wanted.slots, theirs))
            if isinstance(got, RLAgentEnd):
                check_same(f"{what}: truncated", got.truncated, wanted.truncated)
        case _:
            check_same(what, got, wanted)


def _check_rows(what: str, got: Any, wanted: Any) -> None:
    check_same(f"{what}: slots", got[0], wanted[0])
    check_arrays(what, got[1], wanted[1], [f"slot {slot}" for slot in wanted[0]])


def check_parts(what: str, got: str, wanted: str, parts: Sequence[str]) -> None:
    """Raise NotConforming at the first part whose memory differs."""
    for part, mine, theirs in zip(parts, got.split(), wanted.split(), strict=False):
        check_same(f"{what}: the memory of its {part}", mine, theirs)
    check_same(what, got, wanted)


def _check_words(what: str, got: str, first: str, *rest: str) -> None:
    """`got` begins with `first` and holds the rest."""
    if not f"{got} ".startswith(f"{first} ") or not all(words in got for words in rest):
        raise NotConforming(what, got=repr(got), wanted=f"{first} …, with {', '.join(rest)}")


def read_spec(what: str, text: str) -> TaskSpec:
    """The TaskSpec that a client wrote in words. Raises NotConforming."""
    try:
        return spec_of_text(text)
    except (SpecError, ValueError) as error:
        raise NotConforming(what, got=short(text), wanted="a TaskSpec in words") from error


def _numbers(words: str) -> list[float] | str:
    try:
        return [float(word) for word in words.split()]
    except ValueError:
        return words

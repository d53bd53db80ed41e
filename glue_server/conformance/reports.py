"""What a benchmark program called, and what it says it saw, beside what was wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glue_server.conformance.comparing import check_arrays, check_same, check_spec
from reglue.conformance.spec_text import spec_of_text
from reglue.conformance.words import counts_words, rows_word, started_words, stepped_words
from reglue.errors import (
    ROUTINE_REFUSALS,
    AgentFault,
    EnvironmentFault,
    NotConforming,
    RoutineRefused,
    SpecError,
)
from reglue.messages.agent import TextMessage
from reglue.messages.experiment import (
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
)
from reglue.spec import TaskSpec

_STEPPED = ("slots", "rewards", "observations", "flags", "actions")
_STARTED = ("slots", "observations", "actions")
_MOST = 80  # characters that are shown


def short(value: object) -> str:
    """The beginning of it in words."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def check_report(told: str, got: str, answer: Any, spec: TaskSpec) -> None:
    """Raise NotConforming where what was seen is not what was answered."""
    what = f"what it saw of {told}"
    match answer:
        case RoutineRefused():
            code = answer.code if answer.code in ROUTINE_REFUSALS else ""
            _check_words(what, got, f"refused {code}".rstrip(), answer.got, answer.wanted)
        case AgentFault():
            _check_words(what, got, "agent fault", str(answer))
        case EnvironmentFault():
            _check_words(what, got, "environment fault", str(answer))
        case TaskSpec():
            check_spec(_read_spec(what, got), answer)
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
        case SnapshotKey(text) | TextMessage(text):
            check_same(what, got, text)
        case _:
            check_same(what, got, "")


def check_call(told: str, got: Any, wanted: Any) -> None:
    """Raise NotConforming for another call, or one with other arguments."""
    what = f"the call of {told}"
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
    """Raise NotConforming; it names the first part of which the memory differs."""
    for part, mine, theirs in zip(parts, got.split(), wanted.split(), strict=False):
        check_same(f"{what}: the memory of its {part}", mine, theirs)
    check_same(what, got, wanted)


def _check_words(what: str, got: str, first: str, *rest: str) -> None:
    """`got` begins with `first` and holds the rest."""
    if not f"{got} ".startswith(f"{first} ") or not all(words in got for words in rest):
        raise NotConforming(what, got=repr(got), wanted=f"{first} …, with {', '.join(rest)}")


def _read_spec(what: str, text: str) -> TaskSpec:
    try:
        return spec_of_text(text)
    except (SpecError, ValueError) as error:
        raise NotConforming(what, got=short(text), wanted="a TaskSpec in words") from error


def _numbers(words: str) -> list[float] | str:
    try:
        return [float(word) for word in words.split()]
    except ValueError:
        return words

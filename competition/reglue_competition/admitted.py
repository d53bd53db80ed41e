"""Whether what a phase plays was admitted: the audit log says so.

`reglue competition admit` notes what passed, by the phase's commitment, which holds the plans and
the code of their environments, and by the bars. A phase opens with exactly that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reglue.errors import UsageError
from reglue_competition.definition import Bars, PhaseDefinition
from reglue_competition.phases import Drawn
from reglue_competition.store import Store

_ADMISSION, _WAIVED = "admission", "admission waived"


def note_admission(
    store: Store, phase: str, drawn: Sequence[Drawn], plan_commitment: str, *, passed: bool
) -> None:
    """Note how the admission of a phase went."""
    bars = _bars(drawn)
    store.note(_ADMISSION, phase=phase, passed=passed, plan_commitment=plan_commitment, bars=bars)


def waive_admission(store: Store, phase: str) -> None:
    """Note that the organiser opens a phase that is not admitted."""
    store.note(_WAIVED, phase=phase)


def check_admitted(
    store: Store,
    phase: PhaseDefinition,
    drawn: Sequence[Drawn],
    plan_commitment: str,
    *,
    folder: Path,
) -> None:
    """Raise UsageError where a phase is to be admitted before it opens, and is not.

    `folder` is the competition's; the error names it.
    """
    if not _is_asked(phase, drawn):
        return
    what = {"plan_commitment": plan_commitment, "bars": _bars(drawn)}
    why = "it was not admitted"
    for event in store.events_of(_ADMISSION, _WAIVED, phase=phase.name):
        if event.kind == _WAIVED:
            return
        when = f"at {event.at:%Y-%m-%d %H:%M} UTC"
        if any(event.detail.get(key) != value for key, value in what.items()):
            why = f"what it plays has changed since it was looked at {when}"
        elif event.detail["passed"]:
            return
        else:
            why = f"it was refused {when}"
    name = phase.name
    raise UsageError(
        f"phase {name} is not opened: {why}. `reglue competition admit {folder} {name}` "
        "plays it before anybody does; "
        f"`reglue competition open {folder} {name} --not-admitted` opens it all the same"
    )


def _is_asked(phase: PhaseDefinition, drawn: Sequence[Drawn]) -> bool:
    """Where the file does not say it: if something counts, and is the organiser's own, or has bars.

    Reglue's own environments are tested with it.
    """
    if phase.needs_admission is not None:
        return phase.needs_admission
    own = any(each.code or each.entry.admit != Bars() for each in drawn)
    return own and phase.kind != "practice"


def _bars(drawn: Sequence[Drawn]) -> list[dict[str, Any]]:
    return [each.entry.admit.model_dump() for each in drawn]

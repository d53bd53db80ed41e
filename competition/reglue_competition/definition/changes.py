"""Keys of a competition file that may change once a phase has opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from reglue_competition.definition.models import Definition, PhaseDefinition, PhaseState, Quotas

FIXED_WHILE_OPEN = ("play", "agents_see", "images")
"""Tables that may not change while any phase is open, except the keys in `FREE`."""

FREE = {"places"}
"""Keys of these tables that may always change: rows do not depend on them."""

FIXED_ONCE_OPENED = ("name", "ranking")
"""Keys that may not change once any phase has opened."""


def changes(before: Definition, now: Definition, states: Mapping[str, PhaseState]) -> list[str]:
    """The changes that are refused, a sentence each; empty if all are allowed.

    `states` are those of the phases of `before`, by name.
    """
    return list(_refused(before, now, states))


def _refused(
    before: Definition, now: Definition, states: Mapping[str, PhaseState]
) -> Iterator[str]:
    begun = {name for name, state in states.items() if state != "planned"}
    if not begun:
        return
    fixed = list(FIXED_ONCE_OPENED)
    if "open" in states.values():
        fixed += FIXED_WHILE_OPEN
    for key in fixed:
        yield from _differences(key, getattr(before, key), getattr(now, key))
    phases = {phase.name: phase for phase in now.phases}
    for phase in before.phases:
        if phase.name not in begun:
            continue
        state = states[phase.name]
        if (after := phases.get(phase.name)) is None:
            yield f"phases: {phase.name} is {state} and cannot be removed or renamed"
        else:
            yield from _of_phase(before, phase, now, after, is_open=state == "open")


def _of_phase(
    before: Definition,
    phase: PhaseDefinition,
    now: Definition,
    after: PhaseDefinition,
    *,
    is_open: bool,
) -> Iterator[str]:
    place = f"phases.{phase.name}"
    for key in ("kind", "opens", "benchmarks", "cells", "board", "freeze_at", "names", "tracks"):
        if getattr(phase, key) != getattr(after, key):
            yield f"{place}.{key}: may not change once the phase is open"
    if after.closes < phase.closes:
        yield (
            f"{place}.closes: got {after.closes.isoformat()}, wanted {phase.closes.isoformat()} "
            "or later once the phase has opened"
        )
    if is_open:
        yield from _lower(place, before.quotas_of(phase), now.quotas_of(after))


def _lower(place: str, before: Quotas, now: Quotas) -> Iterator[str]:
    for key in Quotas.model_fields:
        old, new = getattr(before, key), getattr(now, key)
        if new is not None and (old is None or new < old):
            wanted = "no limit" if old is None else f"{old} or more"
            yield f"{place}.quotas.{key}: got {new}, wanted {wanted} while the phase is open"


def _differences(place: str, before: object, now: object) -> Iterator[str]:
    if before == now:
        return
    if isinstance(before, BaseModel):
        for key in type(before).model_fields.keys() - FREE:
            yield from _differences(f"{place}.{key}", getattr(before, key), getattr(now, key))
        return
    yield f"{place}: got {now}, wanted {before} as before, now that a phase has opened"

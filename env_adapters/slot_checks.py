"""Tests whether the slots of an environment leave each other alone, as it says of itself."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reglue.environments.environment import Environment
from reglue.environments.validation import conforming_spec
from reglue.errors import NotAnEnvironment
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.spec import Array, Arrays
from reglue.texts import action_texts

_NOBODY = np.zeros(0, np.uint32)


def check_slots(environment: Environment, slots: int = 2) -> None:
    """Play two steps in slot 0, alone and while something happens in slot 1; both must be alike.
    Then play a step of the same cells in other slots.

    A start in another slot must change nothing, and neither must a step there, unless the
    environment says `whole_turns`. Afterwards `env_init` is still to be called. An environment that
    does not play the same alike alone is not judged, nor one that fails: other checks say so. In
    other slots, one that is not `repeatable` may play otherwise.

    Raises NotAnEnvironment, which says what to do.
    """
    if slots < 2 or environment.max_slots == 1:
        return
    try:
        alone, again = _second_step(environment, slots), _second_step(environment, slots)
        if alone is None or alone != again:
            return
        beside_start = _second_step(environment, slots, starts=True)
        beside_step = environment.whole_turns or _second_step(environment, slots, steps=True)
        are_told_apart = environment.repeatable and beside_step in (True, alone)
        swaps = are_told_apart and _swaps(environment, slots)
    except Exception:  # noqa: BLE001 - somebody's environment; the run tells of it
        return
    name = type(environment).__name__
    if swaps:
        raise NotAnEnvironment(
            got=f"{name}, whose slots play each other's episodes",
            wanted="rows of a slot in its own place: each cell plays alike in every slot",
        )
    if beside_start != alone:
        raise NotAnEnvironment(
            got=f"{name}, whose env_start in slot 1 changes the episode of slot 0",
            wanted="one that begins an episode in the slots that are named, and in no other",
        )
    if beside_step not in (True, alone):
        raise NotAnEnvironment(
            got=f"{name}, whose env_step in slot 1 changes the episode of slot 0",
            wanted="whole_turns = True, or an env_step that moves the slots alone that it names",
        )


def _second_step(
    environment: Environment, slots: int, *, starts: bool = False, steps: bool = False
) -> tuple[bytes, ...] | None:
    """The results of slot 0's second step, as bytes; None if its episode ends before.

    Args:
        starts: Begin an episode in slot 1 between its steps, which then steps along.
        steps: Begin one there, and step it alone.
    """
    environment.spec = conforming_spec(environment.env_init(slots)).with_slots(slots)
    task = next(iter(environment.variants))
    first, other = (Cell(task, 0, seed, 0, Phase.EVALUATE) for seed in (1, 2))
    environment.play(Play(_NOBODY, {}, {0: first}))
    if _is_over(environment.play(_steps(environment, [0]))):
        return None
    if starts or steps:
        environment.play(Play(_NOBODY, {}, {1: other}))
    if steps:
        environment.play(_steps(environment, [1]))
    played = environment.play(_steps(environment, [0, 1] if starts else [0]))
    rows = [played.rewards, played.terminated, played.truncated, *played.observations.values()]
    return tuple(values[:1].tobytes() for values in rows)


def _swaps(environment: Environment, slots: int) -> bool:
    """Whether cells play otherwise when each is in the next slot, though twice alike in one."""
    first = _all_slots(environment, slots, 0)
    if not np.isfinite(first[:, 0]).all():  # NaN or infinite: the run reports it
        return False
    moved = np.roll(_all_slots(environment, slots, 1), -1, axis=0)
    if np.allclose(moved, first, rtol=1e-3, equal_nan=True):  # bits may depend on the row
        return False
    return np.array_equal(first, _all_slots(environment, slots, 0), equal_nan=True)


def _all_slots(environment: Environment, slots: int, shift: int) -> Array:
    """The results of each slot's first step, with cell k in slot k + shift; (slots, numbers)."""
    environment.spec = conforming_spec(environment.env_init(slots)).with_slots(slots)
    task = next(iter(environment.variants))
    cells = {(k + shift) % slots: Cell(task, 0, k + 1, 0, Phase.EVALUATE) for k in range(slots)}
    environment.play(Play(_NOBODY, {}, dict(sorted(cells.items()))))
    played = environment.play(_steps(environment, range(slots)))
    rows = [played.rewards, *played.observations.values()]
    return np.concatenate([values.reshape(slots, -1).astype(float) for values in rows], axis=1)


def _is_over(played: Played) -> bool:
    return bool(played.faults or (played.terminated | played.truncated).any())


def _steps(environment: Environment, slots: Iterable[int]) -> Play:
    numbers = np.fromiter(slots, np.uint32)
    return Play(numbers, _actions(environment, len(numbers)), {})


def _actions(environment: Environment, rows: int) -> Arrays:
    """The same legal action in each row."""
    rng, spec = np.random.default_rng(0), environment.spec
    texts = action_texts(spec)
    return {
        each.name: np.repeat(texts.get(each.name, each).sample(rng)[None], rows, axis=0)
        for each in spec.actions
    }

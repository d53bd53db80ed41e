"""Remembers the calls of an episode, and plays it again in a fresh environment.

The agent is not asked again. A failure that recurs was caused by its actions; one that does not was
the machine's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from glue_server.environment.environment_port import EnvironmentPort
from reglue.errors import EnvironmentFault, EnvironmentLost, RoutineRefused
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
)

log = logging.getLogger("reglue")

SlotRoutine: TypeAlias = GetState | SetState | GetRandomSeed | SetRandomSeed
"""A routine that the environment of one slot carries out."""

NO_SLOTS = np.zeros(0, np.uint32)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A call of one slot's episode: its start, a step, or a routine that changed the slot."""

    call: Play | SlotRoutine
    reward: float | None = None  # that the step earned; None: it is no step, or has no answer
    is_answered: bool = True


class Recall(Protocol):
    """Remembers the episodes that are on."""

    def recalled(self, slot: int) -> Iterator[Recalled]:
        """The calls of the slot's episode, in their order; none if there is no episode.

        They may begin with the SetState of a state in mid-episode. Raises EnvironmentFault for an
        episode whose calls were not kept.
        """


def start_of(slot: int, play: Play) -> Play:
    """The start of one slot, alone."""
    return Play(NO_SLOTS, {}, {slot: play.starts[slot]})


MAX_REBUILDS = 3
"""The most processes that may die or hang while they replay an episode up to its failure."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """The failure of a replayed episode."""

    place: int  # of the call, from 0
    what: str


class Replays:
    """Plays episodes again through a port."""

    def __init__(
        self,
        port: EnvironmentPort,
        recall: Recall,
        exchange: Callable[[Play], Played],
        ask: Callable[[SlotRoutine], object],
        is_late: Callable[[], bool],
        is_repeatable: Callable[[], bool],
    ) -> None:
        """`exchange` plays a Play of one slot; `ask` has a routine carried out; `is_late` says
        whether the last answer did not come in time, and was not the last that may be late.

        If the environment is not repeatable, only a start that failed is played again: the agent
        has seen nothing of its episode.
        """
        self.recall = recall
        self.lost: dict[int, str] = {}
        """Slot -> the reason why its episode could not be rebuilt."""
        self._port = port
        self._exchange = exchange
        self._ask = ask
        self._is_late = is_late
        self._is_repeatable = is_repeatable

    def settled(self, play: Play, played: Played) -> Played:
        """The answer to `play` once each episode that failed, or is lost, was played again.

        One that comes through has its row. Of one that fails again where it failed, by its
        actions, the slot is in `crashed`. An action that is not legal is no failure.
        """
        own = own_arrays(played)
        lost = {slot: self.lost.pop(slot) for slot in play.slots.tolist() if slot in self.lost}
        illegal = played.illegal - lost.keys()
        faults: dict[int, str] = {}
        crashed = set[int]()
        outside = played.outside
        for slot, what in {**played.faults, **lost}.items():
            if slot in illegal:
                faults[slot] = what
                continue
            try:
                calls = [*self.recall.recalled(slot)]
                if len(calls) > 1:
                    self._check_repeatable()
            except EnvironmentFault as forgotten:
                faults[slot] = what if slot in lost else f"{what.strip()}\n{forgotten}"
                continue
            log.info("slot %d: %s; its actions are played again", slot, _last_line(what))
            if not calls:  # its episode is over: nobody waits for what comes of it
                faults[slot] = what
                continue
            again = self._again(slot, calls)
            assert again is not None, "an episode has a start"
            if isinstance(again, Played):
                log.info("slot %d: its episode came through in a fresh environment", slot)
                put_row(own, play, slot, again)
                outside += again.outside
                continue
            failed_alike = again.place == len(calls) - 1
            faults[slot] = again.what if failed_alike else _words(again, what)
            if failed_alike and again.place:  # a start has no actions yet
                crashed.add(slot)
        return replace(
            own, faults=faults, illegal=illegal, crashed=frozenset(crashed), outside=outside
        )

    def rebuild(self, slot: int) -> None:
        """Bring a slot whose environment was replaced back to its episode's state.

        If that fails, the slot is lost: whatever its next step earns is no answer, and is settled.
        """
        if slot not in self._port.blank:
            return
        try:
            calls = [each for each in self.recall.recalled(slot) if each.is_answered]
            if calls:
                self._check_repeatable()
        except EnvironmentFault as forgotten:
            self.lost[slot] = f"its process was lost, and {forgotten}"
            return
        if isinstance(again := self._again(slot, calls), _Failure):
            self.lost[slot] = again.what

    def _check_repeatable(self) -> None:
        if not self._is_repeatable():
            what = "the environment is not repeatable, so its episode is not played again"
            raise EnvironmentFault(what)

    def _again(self, slot: int, calls: Sequence[Recalled]) -> Played | _Failure | None:
        """The last answer; None of no call."""
        again: Played | _Failure | None = None
        for _ in range(MAX_REBUILDS):
            self._port.renew(slot)
            again = self._play(slot, calls)
            if not isinstance(again, _Failure) or not calls[again.place].is_answered:
                break  # it came through, or failed where it had failed
            if slot not in self._port.blank and not self._is_late():
                break  # its process lives, and has answered
        return again

    def _play(self, slot: int, calls: Sequence[Recalled]) -> Played | _Failure | None:
        played: Played | None = None
        for place, each in enumerate(calls):
            if not isinstance(each.call, Play):
                try:
                    self._ask(each.call)
                except EnvironmentLost:
                    raise
                except (EnvironmentFault, RoutineRefused) as error:
                    return _Failure(place, str(error))
                continue
            played = self._exchange(each.call)
            if slot in played.faults:
                return _Failure(place, played.faults[slot])
            if each.reward is not None and each.reward != played.rewards[0]:
                what = f"earned {played.rewards[0]!r}, and {each.reward!r} before"
                return _Failure(place, f"{_step(place, calls)} {what}")
            if place < len(calls) - 1 and (played.terminated | played.truncated).any():
                return _Failure(place, f"the episode ended in {_step(place, calls)}")
        return played


def _step(place: int, calls: Sequence[Recalled]) -> str:
    since = " since a saved state" if isinstance(calls[0].call, SetState) else ""
    return f"step {place}{since}"


def _words(again: _Failure, what: str) -> str:
    """The message about an episode whose replay failed elsewhere; `what` is its first failure."""
    return (
        "the environment cannot be repeated: its episode failed, and went otherwise when the same "
        f"actions were played again: {_last_line(again.what)}\n"
        f"First it had failed so: {what.strip()}\nThen so: {again.what.strip()}"
    )


def _last_line(what: str) -> str:
    """The error at the end of a traceback."""
    return (what.strip().splitlines() or [""])[-1][:200]


def own_arrays(played: Played) -> Played:
    """The same in arrays that can be written to."""
    return replace(
        played,
        rewards=played.rewards.copy(),
        observations={name: rows.copy() for name, rows in played.observations.items()},
        terminated=played.terminated.copy(),
        truncated=played.truncated.copy(),
        success=played.success.copy(),
    )


def put_row(played: Played, play: Play, slot: int, one: Played) -> None:
    """Put the answer of one slot into its row."""
    steps = play.slots.tolist()
    row = steps.index(slot) if slot in steps else len(steps) + list(play.starts).index(slot)
    for name, rows in played.observations.items():
        rows[row] = one.observations[name][0]
    if row < len(steps):
        played.rewards[row] = one.rewards[0]
        played.terminated[row] = one.terminated[0]
        played.truncated[row] = one.truncated[0]
        played.success[row] = one.success[0]

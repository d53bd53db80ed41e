"""Plays the episodes of an environment of `whole_turns` again: all at once, in an empty one.

In such an environment no episode can be played alone while others are on. So all that are on begin
anew, each in its own time, and end together: every slot that has an episode is in every step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from glue_server.environment.environment_port import EnvironmentPort
from glue_server.environment.replaying import Recall, Recalled, own_arrays, put_row
from reglue.errors import EnvironmentFault, EnvironmentLost, RoutineRefused
from reglue.messages.environment_messages import EnvironmentReady, Play, Played

log = logging.getLogger("reglue")

_Episodes: TypeAlias = Mapping[int, Sequence[Recalled]]  # by slot
_WHY = "a step of this environment moves all slots, so its failure is the failure of each: "


class JointReplays:
    """Plays episodes again through a port, all together.

    What fails again is the failure of every episode that is on: nobody knows whose action brought
    it about, unless the environment names the slots.
    """

    def __init__(
        self,
        port: EnvironmentPort,
        ready: EnvironmentReady,
        recall: Recall | None,
        exchange: Callable[[Play], Played],
        begin: Callable[[], None],
    ) -> None:
        """`exchange` plays a Play; `begin` empties all slots. Without a `recall` nothing is played
        again.
        """
        self.recall = recall
        self.lost: dict[int, str] = {}
        """Slot -> the reason why its episode could not be rebuilt."""
        self._port = port
        self._ready = ready
        self._exchange = exchange
        self._begin = begin

    def settled(self, play: Play, played: Played) -> Played:
        """The answer to `play`, once all was played again if something failed in it.

        Slots that another one's failure took with it are `lost`: their next step says so.
        """
        lost = {slot: self.lost.pop(slot) for slot in play.slots.tolist() if slot in self.lost}
        illegal = {slot: played.faults[slot] for slot in played.illegal - lost.keys()}
        failed = played.faults.keys() - played.illegal - lost.keys()
        if not failed:
            return replace(played, faults={**played.faults, **lost}) if lost else played
        what = played.faults[min(failed)].strip()
        if self.recall is None:
            if len(played.faults) == len(play.slots) + len(play.starts):
                self._lose_others(play, _WHY + what)
            return replace(played, faults={**played.faults, **lost})
        try:
            episodes = self._episodes({*lost, *self.lost, *illegal})
            if not episodes:  # they are over: nobody waits for what comes of them
                return replace(played, faults={**played.faults, **lost})
            last, again = self._again(episodes)
            _check_others(play, played, last, again)
            if len(again.faults) == len(episodes) > 1:
                raise EnvironmentFault(next(iter(again.faults.values())).strip())
        except EnvironmentLost:
            raise
        except (EnvironmentFault, RoutineRefused) as error:
            before = "" if str(error) == what else f"\nFirst it had failed so: {what}"
            why = f"{_WHY}{error}{before}"
            self._lose_others(play, why)
            faults = dict.fromkeys((*play.slots.tolist(), *play.starts), why)
            return replace(played, faults={**faults, **illegal}, illegal=frozenset(illegal))
        own = own_arrays(played)
        for slot in (*play.slots.tolist(), *play.starts):
            if slot in episodes and slot not in again.faults:
                put_row(own, play, slot, _one_row(again, _row_of(last, slot)))
        crashed = frozenset(again.faults.keys() & set(play.slots.tolist()))  # starts have no action
        over = {slot: played.faults[slot] for slot in failed - episodes.keys()}
        faults = {**illegal, **lost, **over, **again.faults}
        outside = played.outside + again.outside
        return replace(
            own, faults=faults, illegal=frozenset(illegal), crashed=crashed, outside=outside
        )

    def rebuild(self, slot: int) -> None:
        """Bring all slots to where their episodes are, if the environment was replaced."""
        if slot not in self._port.blank or self.recall is None:
            return
        try:
            _, again = self._again(self._episodes(self.lost, is_answered=True))
            if again.faults:
                raise EnvironmentFault(next(iter(again.faults.values())).strip())
        except EnvironmentLost:
            raise
        except (EnvironmentFault, RoutineRefused) as error:
            self.lost.update(dict.fromkeys(range(self._ready.spec.slots), str(error)))

    def _episodes(self, without: Collection[int], *, is_answered: bool = False) -> _Episodes:
        """The calls of each slot's episode. Raises EnvironmentFault if they cannot be played."""
        assert self.recall is not None, "without it nothing is played again"
        if not self._ready.repeatable:
            raise EnvironmentFault("it is not repeatable, so its episodes are not played again")
        episodes = {}
        for slot in range(self._ready.spec.slots):
            if slot in without:
                continue
            calls = [*self.recall.recalled(slot)]
            if calls := [each for each in calls if each.is_answered or not is_answered]:
                episodes[slot] = calls
            if not all(isinstance(each.call, Play) for each in calls):
                raise EnvironmentFault(f"slot {slot} got a state in mid-episode")
        return episodes

    def _again(self, episodes: _Episodes) -> tuple[Play, Played]:
        """The last turn and its answer. Raises EnvironmentFault if an earlier one differs."""
        log.info("the episodes of all slots are played again")
        self._begin()
        longest = max(map(len, episodes.values()))
        for left in reversed(range(longest)):
            on = {slot: calls[-1 - left] for slot, calls in episodes.items() if len(calls) > left}
            play = _joint(on)
            played = self._exchange(play)
            for slot, reward in zip(play.slots.tolist(), played.rewards.tolist(), strict=True):
                wanted = on[slot].reward
                if slot not in played.faults and wanted is not None and reward != wanted:
                    raise _otherwise(f"reward {reward} in slot {slot}", wanted)
            if left and played.faults:
                raise EnvironmentFault(next(iter(played.faults.values())).strip())
            if left and (over := played.terminated | played.truncated).any():
                raise _otherwise(f"the end of slots {play.slots[over].tolist()}", "none")
        return play, played

    def _lose_others(self, play: Play, why: str) -> None:
        """Void the episodes in the slots of which `play` says nothing."""
        others = {*range(self._ready.spec.slots)} - {*play.slots.tolist(), *play.starts}
        self.lost.update(dict.fromkeys(others, why))
        if self.recall is None:  # a program's routines: it may have standardized randomness
            return
        try:
            self._begin()  # what comes next begins in an empty one
        except EnvironmentLost:
            raise
        except (EnvironmentFault, RoutineRefused) as broken:
            log.info("after a failure, the environment did not begin anew: %s", broken)


def _joint(on: Mapping[int, Recalled]) -> Play:
    """One Play of several slots' calls."""
    plays = {slot: each.call for slot, each in on.items() if isinstance(each.call, Play)}
    steps = [play for play in plays.values() if len(play.slots)]
    starts = {slot: cell for play in plays.values() for slot, cell in play.starts.items()}
    names = steps[0].actions if steps else ()
    actions = {name: np.concatenate([play.actions[name] for play in steps]) for name in names}
    slots = [slot for slot, play in plays.items() if len(play.slots)]
    return Play(np.array(slots, np.uint32), actions, starts)


def _check_others(play: Play, played: Played, last: Play, again: Played) -> None:
    """Raise EnvironmentFault unless slots that had not failed earn the same again."""
    for row, slot in enumerate(play.slots.tolist()):
        if slot in played.faults or slot in again.faults or slot not in last.slots:
            continue
        got, wanted = again.rewards[_row_of(last, slot)], played.rewards[row]
        if got != wanted:
            raise _otherwise(f"reward {got} in slot {slot}", wanted)


def _row_of(play: Play, slot: int) -> int:
    rows = [*play.slots.tolist(), *play.starts]
    return rows.index(slot)


def _one_row(played: Played, row: int) -> Played:
    """The answer of one slot."""
    at = slice(row, row + 1)
    return replace(
        played,
        rewards=played.rewards[at],
        observations={name: rows[at] for name, rows in played.observations.items()},
        terminated=played.terminated[at],
        truncated=played.truncated[at],
        success=played.success[at],
    )


def _otherwise(got: str, wanted: object) -> EnvironmentFault:
    return EnvironmentFault("played again, it goes otherwise", got=got, wanted=str(wanted))

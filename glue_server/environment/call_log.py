"""Log of the calls of running episodes, bounded however long an episode is."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glue_server.environment.replaying import Recalled, SlotRoutine, start_of
from reglue.errors import EnvironmentFault
from reglue.messages.environment_messages import Play, Played, SetState
from reglue.spec import Array, Arrays

RECENT_CALLS = 1_000
"""Calls after which the state of a running episode is saved, or its calls are packed."""

MOST_CALLS = 100_000
"""Calls of an episode that are kept where the environment saves no states."""


@dataclass(slots=True)
class _Entry:
    call: Play | SlotRoutine
    rewards: Array | None = None  # of a Play's steps, (P,); None: there is no answer


@dataclass(frozen=True, slots=True)
class _Steps:
    """Answered steps of one slot, packed: some 20 bytes each instead of 650."""

    actions: Arrays  # name -> (N, *shape)
    rewards: npt.NDArray[np.float64]  # (N,)


_Older: TypeAlias = Recalled | _Steps


@dataclass(slots=True)
class _Episode:
    """A running episode: its older calls, and the number of its first recent one."""

    since: int  # number of the first entry that is not in `older`
    older: list[_Older] = field(default_factory=list)  # from its start, or from a saved state
    packed: int = 0  # calls in `older`
    is_forgotten: bool = False


class CallLog:
    """Log of all calls since the oldest running episode began. The default Recall.

    Entries are whole Plays, as that is fast. Once an episode's entries reach back `recent` calls,
    the owner `shorten`s it: a saved state takes their place; without one, they are packed for this
    slot alone, and an episode of more than `most` calls is forgotten.
    """

    def __init__(self, *, recent: int = RECENT_CALLS, most: int = MOST_CALLS) -> None:
        self._recent, self._most = recent, most
        self._episodes: dict[int, _Episode] = {}  # by slot
        self._entries: deque[_Entry] = deque()
        self._first = 0  # number of the oldest entry
        self._unanswered: deque[_Entry] = deque()  # Plays

    def add(self, play: Play) -> None:
        """Add a Play that is sent."""
        for slot in play.starts:
            self._begin(slot)
        self._entries.append(_Entry(play))
        self._unanswered.append(self._entries[-1])

    def answered(self, play: Play, played: Played) -> None:
        """Add the final answer to the oldest Play that has none."""
        self._unanswered.popleft().rewards = played.rewards.copy()  # the caller may change its own
        over = [*play.slots[played.terminated | played.truncated].tolist(), *played.faults]
        for slot in over:
            self._episodes.pop(slot, None)
        if over or play.starts:
            self._drop()

    def change(self, call: SlotRoutine) -> None:
        """Add a routine that has changed its slot. A state that is set begins an episode."""
        if isinstance(call, SetState):
            self._begin(call.slot)
            self._drop()
        if call.slot in self._episodes:
            self._entries.append(_Entry(call))

    def recalled(self, slot: int) -> Iterator[Recalled]:
        episode = self._episodes.get(slot)
        if episode is None:
            return
        if episode.is_forgotten:
            raise EnvironmentFault(
                "its episode is not replayable",
                got=f"more than {self._most} calls",
                wanted="fewer, or an environment that saves states",
            )
        for each in episode.older:
            if isinstance(each, _Steps):
                yield from _unpacked(slot, each)
            else:
                yield each
        yield from self._recent_calls(slot, episode)

    @property
    def long(self) -> list[int]:
        """The slots whose episodes have reached back `recent` calls; every Play is answered."""
        if len(self._entries) < self._recent or self._unanswered:
            return []
        end = self._first + len(self._entries)
        return [slot for slot, each in self._episodes.items() if end - each.since >= self._recent]

    def shorten(self, slot: int, state: bytes | None) -> None:
        """Keep the present `state` of a long episode instead of its calls.

        Without a state they are packed, and forgotten if there are too many.
        """
        episode = self._episodes[slot]
        calls = [*self._recent_calls(slot, episode)]
        if state is not None and calls:
            episode.older, episode.packed = [Recalled(SetState(slot, state))], 0
            episode.is_forgotten = False
        elif not episode.is_forgotten:
            episode.older += _packed(calls)
            episode.packed += len(calls)
            if episode.packed > self._most:
                episode.older, episode.is_forgotten = [], True
        episode.since = self._first + len(self._entries)
        self._drop()

    def _begin(self, slot: int) -> None:
        self._episodes[slot] = _Episode(self._first + len(self._entries))

    def _drop(self) -> None:
        """Forget the entries that no episode needs."""
        end = self._first + len(self._entries)
        oldest = min((each.since for each in self._episodes.values()), default=end)
        while self._first < oldest:
            self._entries.popleft()
            self._first += 1

    def _recent_calls(self, slot: int, episode: _Episode) -> Iterator[Recalled]:
        for number in range(episode.since - self._first, len(self._entries)):
            entry = self._entries[number]
            call = entry.call
            if not isinstance(call, Play):
                if call.slot == slot:
                    yield Recalled(call)
                continue
            is_answered = entry.rewards is not None
            if slot in call.starts:
                yield Recalled(start_of(slot, call), is_answered=is_answered)
            rows = call.slots == slot
            if rows.any():
                actions = {name: values[rows] for name, values in call.actions.items()}
                reward = None if entry.rewards is None else float(entry.rewards[rows][0])
                yield Recalled(Play(call.slots[rows], actions, {}), reward, is_answered)


def _packed(calls: Iterable[Recalled]) -> Iterator[_Older]:
    """The same calls: steps in a row become arrays."""
    for is_step, group in itertools.groupby(calls, key=lambda each: each.reward is not None):
        if not is_step:
            yield from group
            continue
        steps = [*group]
        actions = [each.call.actions for each in steps if isinstance(each.call, Play)]
        yield _Steps(
            {name: np.concatenate([each[name] for each in actions]) for name in actions[0]},
            np.array([each.reward for each in steps]),
        )


def _unpacked(slot: int, steps: _Steps) -> Iterator[Recalled]:
    slots = np.array([slot], np.uint32)
    for row, reward in enumerate(steps.rewards.tolist()):
        actions = {name: rows[row : row + 1] for name, rows in steps.actions.items()}
        yield Recalled(Play(slots, actions, {}), reward)

"""Commits rows in its own thread, so that play does not wait for the disk."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from glue_server import Outcome
from reglue_bench.runs.ledger import Begun, Ledger, Totals, Try
from reglue_bench.runs.observed import ObservedWriter

_MOST_WAITING = 256  # units and parts of observations; then play waits for the disk
_PAUSE_S = 0.1  # between commits of fewer than half of them: each costs play some turns


class _Part(NamedTuple):
    """A part of an episode's observations, as ObservedWriter takes it."""

    number: int
    place: int
    rows: bytes


@dataclass(frozen=True, slots=True)
class _Played:
    """A try of a unit, and the session's totals after it."""

    of: Try
    totals: Totals


_Message: TypeAlias = _Played | Begun | _Part


class Recorder:
    """Writes one session's rows: all units that wait, whole, in one transaction.

    A commit waits for the disk, which takes longer than an episode of an evaluation. A
    process that dies loses the units of the commit under way and of the last tenth of a
    second; they are played again. With `observed` it also takes what agents see and do
    (`ObservedParts`), which is written before the rows of the same episodes.
    """

    observed: ObservedWriter | None = None  # set before play begins, and closed with this

    def __init__(self, ledger: Ledger, session: int) -> None:
        self._ledger = ledger
        self._session = session
        self._waiting: deque[_Message] = deque()
        self._some = threading.Event()  # some wait, or it is closing
        self._hurry = threading.Event()  # many wait, or it is closing: no pause
        self._taken = threading.Event()  # what waited: more may wait
        self._is_over = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="reglue-recorder", daemon=True)
        self._thread.start()

    def begin(self, begun: Begun) -> None:
        """Queue that a unit begins: if this process is killed, it was tried."""
        self._put(begun)

    def record(
        self,
        attempt: int,
        outcomes: Sequence[Outcome],
        totals: Totals,
        *,
        keeps_rewards: bool = True,
    ) -> None:
        """Queue a try of a unit to be committed. Raises the error of an earlier commit."""
        if self._failure is not None:
            raise self._failure
        self._put(_Played(Try(attempt, outcomes, keeps_rewards), totals))

    def next_number(self) -> int:
        assert self.observed is not None
        return self.observed.next_number()

    def take(self, number: int, place: int, rows: bytes) -> None:
        """Queue a part of an episode's observations."""
        self._put(_Part(number, place, rows))

    def close(self) -> None:
        """Wait until all is committed. Raises the error of a commit."""
        self._is_over = True
        self._some.set()
        self._hurry.set()
        self._thread.join()  # first: it writes to `observed`
        if self.observed is not None:
            self.observed.close()
        if self._failure is not None:
            raise self._failure

    def _put(self, each: _Message) -> None:
        while len(self._waiting) >= _MOST_WAITING:
            self._taken.clear()
            if len(self._waiting) >= _MOST_WAITING:  # not taken between these lines
                self._taken.wait()
        self._waiting.append(each)
        if not self._some.is_set():
            self._some.set()
        if len(self._waiting) > _MOST_WAITING // 2 and not self._hurry.is_set():
            self._hurry.set()

    def _write(self) -> None:
        is_over = False
        while not is_over:
            self._some.wait()
            self._some.clear()  # before it looks: what comes later sets it again
            is_over = self._is_over
            batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
            self._taken.set()
            if self._failure is None:  # after a failure the rest is taken and dropped
                try:
                    self._commit(batch)
                except Exception as error:  # noqa: BLE001 - raised where the play can hear it
                    self._failure = error
            if not is_over:
                self._hurry.wait(_PAUSE_S)
                self._hurry.clear()

    def _commit(self, batch: Sequence[_Message]) -> None:
        begun = [each for each in batch if isinstance(each, Begun)]
        parts = [each for each in batch if isinstance(each, _Part)]
        played = [each for each in batch if isinstance(each, _Played)]
        tries = [each.of for each in played]
        # Observations first: what has no row in the ledger is deleted when the run is resumed, but
        # a row without observations would be an episode lost to the dataset.
        if self.observed is not None and (parts or tries):
            self.observed.write(parts, tries)
        if tries or begun:
            totals = played[-1].totals if played else None
            self._ledger.record(tries, begun=begun, session=self._session, totals=totals)

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

_MOST_BYTES = 2**25  # of what waits; then play waits for the disk
_EACH_BYTES = 2048  # about as many as an outcome takes without its actions and rewards
_PAUSE_S = 0.1  # between commits of less than half of that: each costs play some turns


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

    Rows are made where they are queued, and inserted in few statements: whenever one thread of
    Python lets others run, and wants to go on, it waits for the other's turn, and both pay for it.

    A commit waits for the disk, which takes longer than an episode of an evaluation. A
    process that dies loses the units of the commit under way and of the last tenth of a
    second; they are played again. With `observed` it also takes what agents see and do
    (`ObservedParts`), which is written before the rows of the same episodes.
    """

    observed: ObservedWriter | None = None  # set before play begins, and closed with this

    def __init__(self, ledger: Ledger, session: int) -> None:
        self._ledger = ledger
        self._session = session
        self._waiting: deque[tuple[_Message, int]] = deque()  # and its bytes
        self._put_bytes = self._taken_bytes = 0  # by the play, by the thread
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
        of = Try(attempt, outcomes, keeps_rewards).prepared()
        size = 0 if of.is_long else sum(len(one.actions) + len(one.rewards) for one in outcomes)
        self._put(_Played(of, totals), size)

    def next_number(self) -> int:
        assert self.observed is not None
        return self.observed.next_number()

    def take(self, number: int, place: int, rows: bytes) -> None:
        """Queue a part of an episode's observations."""
        self._put(_Part(number, place, rows), len(rows))

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

    def _put(self, each: _Message, size: int = 0) -> None:
        while self._waiting_bytes >= _MOST_BYTES:
            self._taken.clear()
            if self._waiting_bytes >= _MOST_BYTES:  # not taken between these lines
                self._taken.wait()
        size += _EACH_BYTES
        self._put_bytes += size
        self._waiting.append((each, size))
        if not self._some.is_set():
            self._some.set()
        if self._waiting_bytes > _MOST_BYTES // 2 and not self._hurry.is_set():
            self._hurry.set()

    @property
    def _waiting_bytes(self) -> int:
        return self._put_bytes - self._taken_bytes

    def _write(self) -> None:
        is_over = False
        while not is_over:
            self._some.wait()
            self._some.clear()  # before it looks: what comes later sets it again
            is_over = self._is_over
            taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
            self._taken_bytes += sum(size for _, size in taken)
            self._taken.set()
            if self._failure is None:  # after a failure the rest is taken and dropped
                try:
                    self._commit([each for each, _ in taken])
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

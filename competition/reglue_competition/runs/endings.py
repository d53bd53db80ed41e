"""The ends of submissions: stored, told to their agents, and tried again where that may help."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from glue_server.processes.sandboxes.launch import Used
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.retrying import Backoff
from reglue_competition.runs.farewells import Farewells, farewell
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.metrics import Metrics
from reglue_competition.runs.queue_states import Leaving, Paused, Playing, States
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.store import FINAL, UNFINISHED, Status, Store, Submission

log = logging.getLogger("reglue")

MOST_TRIES = 3
"""Of processes that die, or whose machine fails them."""

_PAUSES = Backoff(1.0, factor=5.0)  # before the next try
_LEAVE_S = 10.0  # how long a process that has ended may take to let its agent go

_WAITING: tuple[Status, ...] = ("waiting",)
_PLAYING: tuple[Status, ...] = ("playing",)


class Endings:
    """Ends the queue's submissions, and changes their states so."""

    def __init__(
        self,
        store: Store,
        hosted: Hosted,
        states: States,
        *,
        gateway: AgentGateway,
        entries: StoreEntries,
        metrics: Metrics,
        farewells: Farewells,
    ) -> None:
        self._store = store
        self._hosted = hosted
        self._states = states
        self._gateway = gateway
        self._entries = entries
        self._metrics = metrics
        self._farewells = farewells

    def withdraw(self, submission: Submission, why: str) -> None:
        """End one that waits."""
        held = self._settled(submission, "withdrawn", why, _WAITING)
        if held.status in FINAL:
            self._forget(held)
            self._gateway.release(submission.id)  # an agent that has come back just now

    def conclude_playing(
        self, playing: Playing, status: Status, why: str, used: Used | None = None
    ) -> None:
        """Store how it ended, or that it goes on later, and let its process go."""
        submission = playing.submission
        if joins_anew := status in FINAL and self._gateway.joins_anew(submission.id):
            self._expect(submission)
        held = self._settled(submission, status, why, _PLAYING, used)
        if held.status not in FINAL:
            self._entries.drop_farewell(submission.id)
            self.let_go(playing)
            return
        if joins_anew:
            self._farewells.add(held)
            words = self._conclude(held)
        else:
            words = self._forget(held)
        self.let_go(playing, words, has_failed=held.status == "failed")

    def _settled(
        self,
        submission: Submission,
        status: Status,
        why: str,
        from_: Collection[Status],
        used: Used | None = None,
    ) -> Submission:
        """Store how it ended; returns the stored submission, to which messages refer."""
        if self._store.set_status(submission.id, status, why, from_, used=used):
            return replace(submission, status=status, detail=why)
        held = self._store.submission(submission.id)
        # It may be so by a try before this one, whose answer was lost.
        if held.status != status:
            message = f"is {held.status} in the database, where it would be {status}"
            log_about(submission, message, logging.ERROR)
        return held

    def let_go(self, playing: Playing, farewell: str = "", **more: Any) -> None:
        """End its process, with a farewell unless its agent has another or waits for one.

        `more`: see Leaving.
        """
        state = Leaving(playing.process, farewell, **more)
        state.process.let_go("" if state.has_failed else farewell)
        self._states[playing.submission.id] = state

    def end_leaving(self) -> None:
        """End processes that have let their agents go, or take too long for it."""
        for submission, state in [*self._states.items()]:
            if not isinstance(state, Leaving):
                continue
            is_late = time.monotonic() > state.since + _LEAVE_S
            if not is_late and state.process.is_alive():
                continue
            state.process.end(0.0)
            self._pause(submission, state.not_before)
            if state.farewell:  # also to an agent that comes back just now
                self._gateway.end(submission, state.farewell, has_failed=state.has_failed)

    def failed(self, submission: Submission, why: str, used: Used | None = None) -> float:
        """Returns when the next try begins; 0.0 after too many, and then its agent hears so."""
        self._metrics.restarts.inc()
        tries = self._store.interrupt(submission.id, why, used)
        if tries >= MOST_TRIES:
            self.end(submission, "broken", why)
            return 0.0
        log_about(submission, f"was interrupted, and goes on: {why}", logging.WARNING)
        return time.monotonic() + _PAUSES.after(tries)

    def try_later(self, submission: Submission, why: str) -> None:
        """A try failed before there was a process."""
        self._pause(submission.id, self.failed(submission, why))

    def end(self, submission: Submission, status: Status, why: str) -> None:
        """End one that has no process, and tell its agent."""
        ended = replace(submission, status=status, detail=why)
        self._expect(ended)
        if self._settled(submission, status, why, UNFINISHED).status != status:
            self._entries.forget(submission.id)
            return
        self._conclude(ended)
        self._farewells.add(ended)
        self._farewells.send()

    def _pause(self, submission: str, not_before: float) -> None:
        """Note when the next try of one without a process begins, if there is one."""
        self._states.pop(submission, None)
        if not_before:
            self._states[submission] = Paused(not_before)

    def _expect(self, submission: Submission) -> None:
        """Let its agent join again for its farewell, as its run has died.

        Before the end is stored: else the agent would enter another submission.
        """
        self._entries.expect([submission], time.monotonic() + self._hosted.reconnect_window_s)

    def _forget(self, ended: Submission) -> str:
        """It has ended, and its agent enters anew; returns the words for the agent."""
        self._entries.forget(ended.id)
        return self._conclude(ended)

    def _conclude(self, ended: Submission) -> str:
        match self._states.get(ended.id):  # no try comes after this
            case Paused():
                del self._states[ended.id]
            case Leaving() as leaving:
                leaving.not_before = 0.0
        self._metrics.ended.labels(ended.status).inc()
        log_about(ended, f"is {ended.status}{': ' if ended.detail else ''}{ended.detail}")
        return farewell(ended.status, ended.detail)


def log_about(submission: Submission, message: str, level: int = logging.INFO) -> None:
    """Log what happens to a submission."""
    about = {"team": submission.team, "submission": submission.id}
    log.log(level, "submission %r %s", submission.name, message, extra=about)

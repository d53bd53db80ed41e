"""Farewells to agents whose submissions have ended, also to those that are away just then."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.store import UNFINISHED, Status, Store, Submission

MARGIN_S = 5.0
"""Seconds after its window in which an agent may still come to a server that is new."""

_TOLD: tuple[Status, ...] = ("finished", "failed", "cancelled", "broken")

_FAREWELLS = {
    "finished": "the submission is finished, thank you",
    "failed": "the submission has failed, {}",
    "cancelled": "the submission was cancelled: {}",
    # Without its detail, which is the organiser's: it may name files, and hidden tasks.
    "broken": "the submission broke by our own failure, not your agent's; the organiser knows, "
    "and can have it played again",
}


def farewell(status: str, detail: str) -> str:
    """The words for an agent whose submission has ended; none for one that is withdrawn."""
    return _FAREWELLS.get(status, "").format(detail)


class Farewells:
    """Farewells to agents whose submission has no process that could say one.

    An agent that hears none joins again, and would enter another submission.
    """

    def __init__(
        self,
        store: Store,
        gateway: AgentGateway,
        entries: StoreEntries,
        *,
        since: datetime,
        window_s: float,
    ) -> None:
        """Begin with submissions that ended in the `window_s` before `since`, when this server
        began.

        A server that was killed then may not have informed the agent.
        """
        self._gateway = gateway
        self._entries = entries
        begin = since - timedelta(seconds=window_s)
        goes_on = {(each.team, each.name) for each in store.submissions(statuses=UNFINISHED)}
        self._untold = {
            each.id: each
            for each in store.submissions(statuses=_TOLD)
            if each.ended_at is not None and each.ended_at >= begin
            if (each.team, each.name) not in goes_on
        }
        entries.expect(self._untold.values(), time.monotonic() + window_s)

    def add(self, ended: Submission) -> None:
        """Its agent is to be told."""
        self._untold[ended.id] = ended

    def drop(self, submission: str) -> None:
        """Its agent is not: it plays."""
        if self._untold.pop(submission, None) is not None:
            self._entries.drop_farewell(submission)

    def send(self) -> None:
        """Tell those that are here, or have come back."""
        for submission in [*self._untold.values()]:
            words = farewell(submission.status, submission.detail)
            has_failed = submission.status == "failed"
            is_told = self._gateway.end(submission.id, words, has_failed=has_failed)
            if is_told or not self._entries.awaits(submission.id, MARGIN_S):
                self._entries.forget(submission.id)
                del self._untold[submission.id]

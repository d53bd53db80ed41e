"""Enters teams' agents into the queue, and knows which of them are connected."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from glue_server.rpc.gateways.entries import EntryRefused
from glue_server.rpc.handlers import Caller
from reglue import errors
from reglue.errors import BadArgument, StoreFailed, TokenRefused
from reglue_competition.definition import Definition
from reglue_competition.runs.metrics import Metrics
from reglue_competition.store import Organiser, Store, Submission, Team

log = logging.getLogger("reglue")


class StoreEntries:
    """The gateway's `Entries` over a store's submissions; called by the gateway's threads."""

    def __init__(self, store: Store, metrics: Metrics, definition: Definition) -> None:
        self._store = store
        self._metrics = metrics
        self._definition = definition
        self._entering = threading.Lock()  # taken before `_lock`
        self._lock = threading.Lock()
        self._connected: dict[str, bool] = {}  # by submission; False: it has left
        self._rounds: dict[str, datetime] = {}  # when they begin, by submission
        # Submissions that ended, by team and name, and until when, in monotonic seconds.
        self._farewells: dict[tuple[str, str], tuple[Submission, float]] = {}

    def expect(self, ended: Iterable[Submission], until: float) -> None:
        """Let agents of ended submissions come back for their farewell, until `forget`.

        An agent that enters meanwhile has entered when this returns.

        `until`: when that ends, monotonic seconds.
        """
        with self._entering, self._lock:
            self._farewells |= {(each.team, each.name): (each, until) for each in ended}

    def awaits(self, submission: str, margin_s: float) -> bool:
        """Whether the agent may still reconnect for its farewell, with `margin_s` of grace."""
        since = time.monotonic() - margin_s
        farewells = self._farewells.values()
        return any(each.id == submission and since < until for each, until in farewells)

    def enter(self, token: str, name: str, caller: Caller) -> str:
        try:
            return self._enter(token, name, caller)
        except EntryRefused as refused:
            self._metrics.refusals.labels(refused.kind).inc()
            raise

    def waits(self, entry: str) -> str:
        """Say for which round it waits, if its round has not begun."""
        begins = self._rounds.get(entry)
        if begins is None or begins <= self._store.now():
            return "waiting for its turn"
        return f"waiting for the round that begins at {begins:%Y-%m-%d %H:%M:%S} UTC"

    def came(self, entry: str) -> None:
        """Remember that its agent is connected."""
        with self._lock:
            self._connected[entry] = True

    def left(self, entry: str) -> None:
        """Remember that its agent has left for good."""
        with self._lock:
            self._connected[entry] = False

    def is_connected(self, submission: str) -> bool:
        """Whether its agent waits, or plays, or may come back to this server."""
        return self._connected.get(submission, False)

    def has_left(self, submission: str) -> bool:
        """Whether its agent was here and will not come back."""
        return not self._connected.get(submission, True)

    def forget(self, submission: str) -> None:
        """Forget a submission that has ended."""
        with self._lock:
            self._connected.pop(submission, None)
            self._rounds.pop(submission, None)
        self.drop_farewell(submission)

    def drop_farewell(self, submission: str) -> None:
        """Stop waiting for an agent that would come back for its farewell alone."""
        with self._lock:
            remaining = {
                key: each for key, each in self._farewells.items() if each[0].id != submission
            }
            self._farewells = remaining

    def team_of(self, token: str, caller: Caller) -> Team:
        """The token's team. Raises EntryRefused."""
        with refusing():
            bearer = self._store.bearer(token)
        if isinstance(bearer, Organiser):
            reason = "this token is the organiser's: agents join with their team's"
            raise EntryRefused(reason, kind="token")
        if self._definition.client_certificates and caller.certified != bearer.name:
            reason = "this token is of another team than the certificate that was shown"
            raise EntryRefused(reason, kind="token", team=bearer.name)
        return bearer

    def _enter(self, token: str, name: str, caller: Caller) -> str:
        bearer = self.team_of(token, caller)
        team = bearer.name
        with refusing(team):
            phase = self._store.phase_of(token)
        with self._entering:
            ended, until = self._farewells.get((team, name.strip()), (None, 0.0))
            if ended and phase in (None, ended.phase) and time.monotonic() < until:
                return ended.id
            with refusing(team):
                entered = self._store.enter(bearer, name, self._store.now(), phase=phase)
        begins = self._definition.round_of(entered.phase, entered.queued_at)
        if begins is not None and entered.status == "waiting":
            with self._lock:
                self._rounds[entered.id] = begins
        about = {"team": team, "submission": entered.id}
        log.info("an agent has joined", extra=about)
        return entered.id


@contextmanager
def refusing(team: str = "") -> Iterator[None]:
    """Turn what a store raises into EntryRefused."""
    try:
        yield
    except TokenRefused as refused:
        raise EntryRefused(str(refused), kind="token") from refused
    except (errors.EntryRefused, BadArgument) as refused:
        raise EntryRefused(str(refused), team=team) from refused
    except StoreFailed as failed:
        log.error("an agent could not enter: %s", failed, extra={"team": team})
        reason = "our own failure: the competition's database is away; try again later"
        raise EntryRefused(reason, kind="later", team=team) from failed

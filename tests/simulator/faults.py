"""Faults that the program had once, or might have: put back, they have to be found."""

from __future__ import annotations

import os
import sqlite3
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from filelock import BaseFileLock

from glue_server.environment.replaying import Replays
from glue_server.processes import interrupts
from glue_server.rpc import server_session, stream_port
from glue_server.rpc.gateways import run_gateway
from glue_server.rpc.gateways.run_link import RunLink
from glue_server.rpc.server_session import PeerSession
from glue_server.rpc.stream_port import StreamPort
from reglue.errors import BadAgentReply, EnvironmentFault, StorageFailed
from reglue.net.session import Session
from reglue_bench.procedures import Todos
from reglue_bench.runs import run_session
from reglue_bench.runs.ledger import Ledger, writer
from reglue_bench.runs.left_to_play import left_to_play
from reglue_competition.runs import farewells, serve
from reglue_competition.runs.phase_calendar import Calendar
from reglue_competition.runs.queue import Queue
from reglue_competition.store import Store, Submission, Team, quotas, submissions
from reglue_competition.store.records import FREE
from tests.simulator.virtual_files import Connection


@dataclass(frozen=True)
class Fault:
    """A change of the program, in which world it shows, and what it is."""

    world: str
    what: str
    put_back: Callable[[], AbstractContextManager[Any]]


@contextmanager
def _split() -> Iterator[None]:
    ask = RunLink.ask

    def asked(*args: Any) -> Any:
        try:
            return ask(*args)
        except TimeoutError:
            return None

    with patch.object(RunLink, "ask", asked), patch.object(run_gateway, "_moves", lambda *_: []):
        yield


@contextmanager
def _halves() -> Iterator[None]:
    execute = Connection.execute

    def executed(connection: Connection, sql: str, *values: Any) -> sqlite3.Cursor:
        return execute(
            connection, "SELECT 1" if sql in ("BEGIN IMMEDIATE", "COMMIT") else sql, *values
        )

    with patch.object(Connection, "execute", executed):
        yield


def _early() -> AbstractContextManager[Any]:
    def left(ledger: Ledger, *how: Any) -> Todos:
        todo, rows = left_to_play(ledger, *how), [*ledger.rows()]
        if not rows or rows[-1].unit in todo.units:
            return todo
        first = array("I", [rows[-1].unit]), array("I", [rows[-1].attempt + 1])
        return Todos(first[0] + todo.units, first[1] + todo.attempts)

    return patch.object(run_session, "left_to_play", left)


def _other_turn() -> AbstractContextManager[Any]:
    remember = Session._remember

    def remembered(session: Session, seq: int, answer: bytes) -> None:
        before = session._answers.get(seq - 1)
        if before is not None:
            message = session._peer.role.from_peer.FromString(before)
            message.seq = seq
            answer = message.SerializeToString()
        remember(session, seq, answer)

    return patch.object(Session, "_remember", remembered)


@contextmanager
def _wall_clock() -> Iterator[None]:
    wall = SimpleNamespace(monotonic=time.time)
    with patch.object(stream_port, "time", wall), patch.object(server_session, "time", wall):
        yield


def _unwritten() -> AbstractContextManager[Any]:
    record = Ledger.record

    def recorded(*args: Any, **options: Any) -> None:
        with suppress(StorageFailed):
            record(*args, **options)

    return patch.object(Ledger, "record", recorded)


class _Marker(BaseFileLock):
    """A lock that is a file's existence."""

    def _acquire(self) -> None:
        with suppress(FileExistsError):
            self._context.lock_file_fd = os.open(self.lock_file, os.O_CREAT | os.O_EXCL)

    def _release(self) -> None:
        if (file := self._context.lock_file_fd) is not None:
            self._context.lock_file_fd = None
            os.close(file)
        Path(self.lock_file).unlink()


@contextmanager
def _free_cells() -> Iterator[None]:
    with (
        patch.object(submissions, "has_own_cells", lambda *_: False),
        patch.object(submissions, "_redraw_waiting", lambda *_: None),
    ):
        yield


@contextmanager
def _forgotten() -> Iterator[None]:
    waits = Queue._waits

    def waits_if_new(queue: Queue, submission: Submission, now: datetime) -> bool:
        return submission.status == "waiting" and waits(queue, submission, now)

    with patch.object(Queue, "_waits", waits_if_new):
        yield


@contextmanager
def _by_the_wall_clock() -> Iterator[None]:
    enter = Store.enter

    def entered(store: Store, team: Team, name: str, now: datetime, **how: Any) -> Submission:
        return enter(store, team, name, now.fromtimestamp(time.time(), now.tzinfo), **how)

    with patch.object(Store, "enter", entered):
        yield


def _unaware() -> AbstractContextManager[Any]:
    give = Queue._give_places

    def given(queue: Queue, waiting: list[Submission], _: Counter[Any]) -> None:
        give(queue, waiting, Counter())

    return patch.object(Queue, "_give_places", given)


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "split": Fault(
            "hub", "a run that does not answer counts as full, and nobody is moved", _split
        ),
        "twice": Fault(
            "evaluation",
            "an agent carries out a call again that comes again over a new stream",
            lambda: patch.object(Session, "_remember", lambda *_: None),
        ),
        "halves": Fault(
            "evaluation", "a commit is cut in two where the process ends within it", _halves
        ),
        "lost": Fault(
            "remote",
            "an agent that killed an environment that connects gets a second try by a resume",
            lambda: patch.object(run_session.Session, "_settle_lost", lambda _, todo, __: todo),
        ),
        "crashes": Fault(
            "remote",
            "episodes that a broken connection lost count as ended by their agent",
            lambda: patch.object(run_session, "fails_again", lambda *_: "it is lost again"),
        ),
        "early": Fault("evaluation", "a resumed run plays its last complete episode again", _early),
        "unheard": Fault(
            "evaluation",
            "Ctrl-C is swallowed while a run plays",
            lambda: patch.object(interrupts._Stop, "hear", lambda *_: None),
        ),
        "locked": Fault(
            "evaluation",
            "a process that was killed keeps the lock of its run's folder",
            lambda: patch.object(writer, "FileLock", _Marker),
        ),
        "unwritten": Fault(
            "evaluation", "a commit that a full disk refuses is forgotten", _unwritten
        ),
        "not replayed": Fault(
            "evaluation",
            "the actions of an episode whose worker died are not played again",
            lambda: patch.object(Replays, "settled", lambda _, __, played: played),
        ),
        "unsent": Fault(
            "evaluation",
            "calls that a broken stream may have lost are not sent again",
            lambda: patch.object(StreamPort, "_resume", lambda *_: None),
        ),
        "other turn": Fault(
            "evaluation", "a call that comes again gets the answer to the one before", _other_turn
        ),
        "wall clock": Fault(
            "evaluation", "limits of sessions are by a clock that may jump", _wall_clock
        ),
        "stays": Fault(
            "hub",
            "a peer that does not come back within its window keeps its place",
            lambda: patch.object(
                PeerSession, "_gone_at", lambda peer: -inf if peer._is_lost else inf
            ),
        ),
        "promised": Fault(
            "hub",
            "a place is kept for ever for a peer that does not come",
            lambda: patch.object(run_gateway, "_PROMISED_S", inf),
        ),
        "free cells": Fault(
            "competition",
            "a team plays the cells again that it saw in a submission that broke",
            _free_cells,
        ),
        "late quota": Fault(
            "competition",
            "submissions count against quotas only once they have begun",
            lambda: patch.object(quotas, "FREE", (*FREE, "waiting")),
        ),
        "forgotten": Fault(
            "competition", "a server does not resume what the one before it played", _forgotten
        ),
        "entries' clock": Fault(
            "competition",
            "submissions are entered by a clock that has jumped",
            _by_the_wall_clock,
        ),
        "early round": Fault(
            "competition",
            "submissions play before their round",
            lambda: patch.object(Calendar, "has_begun", lambda *_: True),
        ),
        "places": Fault(
            "competition", "places of those that play are given to others too", _unaware
        ),
        "cut short": Fault(
            "competition",
            "a server that is told to end gives submissions no time",
            lambda: patch.object(serve, "_drain", lambda *_: None),
        ),
        "blamed": Fault(
            "competition",
            "an answer that is wrong counts as the environment's error",
            lambda: patch.object(BadAgentReply, "status", EnvironmentFault.status),
        ),
        "lost farewell": Fault(
            "competition",
            "agents whose submission ended under the server before hear no farewell",
            lambda: patch.object(farewells, "_TOLD", ()),
        ),
    }
)

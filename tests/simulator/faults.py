"""Faults that the program had once, or might have: put back, they have to be found."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from glue_server.rpc.gateways import run_gateway
from glue_server.rpc.gateways.run_link import RunLink
from reglue.net.session import Session
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
    begun = sqlite3.Connection.execute

    def executed(connection: sqlite3.Connection, sql: str, *values: Any) -> sqlite3.Cursor:
        return begun(
            connection, "SELECT 1" if sql in ("BEGIN IMMEDIATE", "COMMIT") else sql, *values
        )

    with patch.object(Connection, "execute", executed):
        yield


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
    }
)

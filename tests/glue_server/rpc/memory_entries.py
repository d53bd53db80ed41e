"""Entries that are held in memory, and runs that are servers of this process."""

from __future__ import annotations

import threading

from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from glue_server.rpc.gateways.entries import EntryRefused
from glue_server.rpc.handlers import Caller

TOKEN = "team"


class KnownEntries:
    """Teams whose tokens begin with TOKEN enter what they like; each name is an entry."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []  # what happened, and to which entry
        self.refusal: EntryRefused | None = None
        self.fails = 0  # how often it can note nothing
        self._lock = threading.Lock()

    def enter(self, token: str, name: str, caller: Caller) -> str:
        if not token.startswith(TOKEN):
            raise EntryRefused("this token is nobody's", kind="token")
        if self.refusal is not None:
            raise self.refusal
        with self._lock:
            self.told.append(("entered", name))
        return name

    def waits(self, entry: str) -> str:
        return "waiting for its turn"

    def came(self, entry: str) -> None:
        self._note("came", entry)

    def left(self, entry: str) -> None:
        self._note("left", entry)

    def has(self, *told: tuple[str, str]) -> bool:
        """Whether all of it was told."""
        with self._lock:
            return {*told} <= {*self.told}

    def _note(self, what: str, entry: str) -> None:
        with self._lock:
            if self.fails:
                self.fails -= 1
                raise OSError("the database is away")
            self.told.append((what, entry))


class OwnRun:
    """A run at a server of this process, with a place for one agent."""

    public_address = ""

    def __init__(self, server: GlueServer) -> None:
        self.server = server
        self.join_string = server.local_join_string("agent")
        self.has_ended = False

    def is_alive(self) -> bool:
        return not self.has_ended

    def leave(self) -> None:
        self.end(0.0)

    def end(self, within_s: float) -> None:
        """As a process does that is killed."""
        self.has_ended = True
        self.server._server.stop(grace=0).wait()


def gateway(entries: KnownEntries, reconnect_window_s: float = 20.0) -> AgentGateway:
    return AgentGateway(entries=entries, reconnect_window_s=reconnect_window_s)

"""Agents that connect by way of a proxy: one that breaks its connection, leaves, or is slow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from glue_server.conformance.tcp_proxy import TcpProxy
from reglue import connect
from reglue.errors import ReglueError
from reglue.net.join_string import JoinString, join_string
from tests.cheats.cheat_world import Player

CONNECTED = ("comes back", "leaves", "late", "too late")
"""The cheats of an agent that connects: it breaks its connection and comes back, or does not; it
answers late where a default action is played, or where that is its fault.
"""


class Connecting:
    """A player that connects, and what it does when it loses."""

    def __init__(self, policy: int, how: str, *, late_s: float, honest: bool = False) -> None:
        self._acts = {"comes back": self._cut, "leaves": self._leave}
        self._proxy = TcpProxy()
        self._late_s = late_s
        act = self._acts.get(how, self._sleep)
        self.player = Player(policy) if honest else Player(policy, "acts", act)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="agent")
        self._session: Future[None] | None = None

    def join(self, where: str | JoinString, name: str | None = None) -> None:
        """Play there, in a thread."""
        asked = join_string(str(where))
        self._proxy.target = asked.address
        there = join_string(self._proxy.address, asked.token)
        self._session = self._thread.submit(self._play, str(there), name)

    def close(self) -> None:
        self._thread.shutdown()
        self._proxy.close()
        if self._session is not None:
            self._session.result()

    def _play(self, where: str, name: str | None) -> None:
        with suppress(ReglueError):  # it is too late for most of them
            connect(self.player, where, name=name, transport="grpc", connect_timeout_s=5.0)

    def _cut(self) -> None:
        self._proxy.cut()

    def _leave(self) -> None:
        self._proxy.target = ""
        self._proxy.cut()

    def _sleep(self) -> None:
        time.sleep(self._late_s)


@contextmanager
def connecting(
    policy: int, how: str, *, late_s: float, honest: bool = False
) -> Iterator[Connecting]:
    agent = Connecting(policy, how, late_s=late_s, honest=honest)
    try:
        yield agent
    finally:
        agent.close()

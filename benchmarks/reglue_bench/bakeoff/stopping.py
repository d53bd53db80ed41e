"""Ctrl-C for runs in threads, which hear none: their environments, agents and door tell them."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from glue_server import Pool
from glue_server.agent.port import AgentPort
from glue_server.peers.hosts import PeerSource
from reglue.errors import AgentFault, BadReply
from reglue.messages.agent import UNLIMITED, Budget, Call, Hello, Reply
from reglue.messages.environment import Play, Played
from reglue.net.join_string import JoinString
from reglue.spec import TaskSpec

_LOOK_MS = 200  # how often one that waits for environments sees whether it is to stop


class StoppablePool:
    """The pool that `make` makes when it is first needed.

    Once `stop` is set, the next play raises KeyboardInterrupt, and so does one under way.
    """

    def __init__(self, make: Callable[[], Pool], stop: threading.Event) -> None:
        self._make = make
        self._stop = stop

    @cached_property
    def _pool(self) -> Pool:
        return self._make()

    @property
    def spec(self) -> TaskSpec:
        """The pool's."""
        return self._pool.spec

    @property
    def executed(self) -> int:
        """The pool's."""
        return self._pool.executed

    def send(self, play: Play) -> None:
        """Hand it on."""
        _check(self._stop)
        self._pool.send(play)

    def receive(self) -> Played:
        """The pool's answer. Raises KeyboardInterrupt."""
        while not self._pool.is_ready():
            _check(self._stop)
            poll = select.poll()
            for fileno in self._pool.filenos():
                poll.register(fileno, select.POLLIN)
            poll.poll(_LOOK_MS)
        return self._pool.receive()

    def filenos(self) -> Sequence[int]:
        """The pool's."""
        return self._pool.filenos()

    def is_ready(self) -> bool:
        """As the pool is."""
        return self._pool.is_ready()

    def close(self) -> None:
        """Close the pool, if there is one."""
        if "_pool" in self.__dict__:
            self._pool.close()


class StoppableRoom:
    """A room in which nobody is waited for once `stop` is set."""

    def __init__(self, room: PeerSource, stop: threading.Event) -> None:
        self._room = room
        self._stop = stop
        self._ports: list[_StoppablePort] = []

    def cut(self) -> None:
        """Let who has come go, whatever it is asked; nobody is waited for any more."""
        for port in list(self._ports):
            port.cut()

    def join_string(self, role: str) -> JoinString:
        """The room's."""
        return self._room.join_string(role)

    def local_join_string(self, role: str) -> JoinString:
        """The room's."""
        return self._room.local_join_string(role)

    @property
    def sockets(self) -> Path | None:
        """The room's."""
        return self._room.sockets

    def next(self, role: str, timeout_s: float) -> Any | None:
        """As the room's. Raises KeyboardInterrupt where it would wait."""
        if timeout_s > 0:
            _check(self._stop)
        if (port := self._room.next(role, timeout_s)) is None:
            return None
        self._ports.append(_StoppablePort(port, self._stop))
        return self._ports[-1]

    def release(self, port: object) -> None:
        """Tell the room."""
        assert isinstance(port, _StoppablePort), "it came from `next`"
        self._ports.remove(port)
        self._room.release(port.port)

    def close(self) -> None:
        """Close the room."""
        self._room.close()


class _StoppablePort(AgentPort):
    """An agent's port: once `stop` is set, its faults are raised as KeyboardInterrupt."""

    def __init__(self, port: Any, stop: threading.Event) -> None:
        self.port = port
        self._stop = stop

    @property
    def hello(self) -> Hello:
        """The port's."""
        hello: Hello = self.port.hello
        return hello

    @property
    def waited_s(self) -> float:
        """The port's."""
        return float(self.port.waited_s)

    @property
    def is_gone(self) -> bool:
        """The port's."""
        return bool(self.port.is_gone)

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        """Hand it on. Raises KeyboardInterrupt."""
        _check(self._stop)
        self.port.send(call, budget)

    def receive(self, timeout_s: float) -> Reply:
        """The port's. Raises KeyboardInterrupt in the place of an agent's fault."""
        try:
            reply: Reply = self.port.receive(timeout_s)
        except AgentFault:
            _check(self._stop)
            raise
        return reply

    def fileno(self) -> int | None:
        """The port's."""
        fileno: int | None = self.port.fileno()
        return fileno

    def refuse(self, refused: BadReply) -> None:
        """Hand it on."""
        self.port.refuse(refused)

    def close(self, reason: str) -> None:
        """Let the agent go."""
        self.port.close(reason)

    def cut(self) -> None:
        """Let it go, and wait for no answer."""
        self.port.close("the run was interrupted")
        self.port.give_up()


def _check(stop: threading.Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt

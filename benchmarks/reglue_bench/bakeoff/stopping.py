"""Ctrl-C for runs in threads, which hear none: their environments and their door tell them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from glue_server import Pool
from glue_server.hosts import Entrance
from reglue.environment_calls import Play, Played
from reglue.invitation import Invitation
from reglue.spec import TaskSpec


class StoppablePool:
    """The pool that `make` makes when it is first needed.

    Once `stop` is set, the next play raises KeyboardInterrupt.
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
        """The pool's answer."""
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

    def __init__(self, room: Entrance, stop: threading.Event) -> None:
        self._room = room
        self._stop = stop

    def invitation(self, role: str) -> Invitation:
        """The room's."""
        return self._room.invitation(role)

    def local_invitation(self, role: str) -> Invitation:
        """The room's."""
        return self._room.local_invitation(role)

    @property
    def sockets(self) -> Path | None:
        """The room's."""
        return self._room.sockets

    def next(self, role: str, timeout_s: float) -> Any | None:
        """As the room's. Raises KeyboardInterrupt where it would wait."""
        if timeout_s > 0:
            _check(self._stop)
        return self._room.next(role, timeout_s)

    def release(self, port: object) -> None:
        """Tell the room."""
        self._room.release(port)

    def close(self) -> None:
        """Close the room."""
        self._room.close()


def _check(stop: threading.Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt

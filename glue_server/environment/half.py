"""The environment's half of a run: one Play after another, each answered."""

from __future__ import annotations

from typing import TypeVar

from glue_server.environment.port import (
    EnvironmentPort,
    ask_environment,
    check_ready,
    receive_played,
)
from reglue.messages.environment import EnvironmentCall, EnvironmentInit, Play, Played, Ready

_Kind = TypeVar("_Kind")


class EnvironmentHalf:
    """The slots of the environment behind a port, since env_init.

    All raise EnvironmentFault when it is lost, and RoutineRefused for what it refuses.
    """

    def __init__(self, port: EnvironmentPort, slots: int, *, timeout_s: float) -> None:
        self._port = port
        self._timeout_s = timeout_s
        self.ready = ask_environment(port, EnvironmentInit(slots), Ready, timeout_s=timeout_s)
        check_ready(self.ready, slots)

    def play(self, play: Play) -> Played:
        """The answer. One that does not fit is the fault of every slot that was asked."""
        self._port.send(play)
        return receive_played(self._port, self.ready.spec, play, timeout_s=self._timeout_s)

    def ask(self, call: EnvironmentCall, kind: type[_Kind]) -> _Kind:
        """A routine other than those; see ask_environment."""
        return ask_environment(self._port, call, kind, timeout_s=self._timeout_s)

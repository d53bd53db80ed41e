"""An environment that connects by itself, and the one that comes in its place when it is lost.

Its process may have died of an agent's action. The next one plays the recorded actions first, as
a worker that replaces a dead one does: see `replaying`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from glue_server.environment.environment_port import EnvironmentPort
from reglue.errors import BadReply, EnvironmentFault, EnvironmentTimeout
from reglue.messages.agent_messages import Cleanup
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    Play,
    Played,
)


class RemotePort(EnvironmentPort, Protocol):
    """An environment at the other end of a stream."""

    @property
    def is_gone(self) -> bool:
        """Whether it has left for good."""


class ReturningPort:
    """Calls the environment that is here; when it is lost, the one that comes next.

    What the lost one owed is then the fault of the slots that were asked, and all are `blank`.
    """

    where = "a program that connected"
    renews = True

    def __init__(
        self,
        first: RemotePort,
        following: Callable[[], RemotePort],
        check_same: Callable[[EnvironmentHello, EnvironmentReady], None],
        *,
        timeout_s: float,
    ) -> None:
        """`following` waits for another; raises EnvironmentFault if none comes in time.

        `check_same` gets what that one declares, and raises EnvironmentFault unless the first did
        so, too; it may take `timeout_s` seconds to do so.
        """
        self.blank: set[int] = set()
        self._port = first
        self._following = following
        self._check_same = check_same
        self._timeout_s = timeout_s
        self._ready: EnvironmentReady | None = None
        self._calls: deque[EnvironmentCall] = deque()  # without an answer
        self._owed = 0  # of these, the oldest, by a port that was lost
        self._why = ""
        self._waits = False  # for the next environment

    @property
    def is_away(self) -> bool:
        """Whether its stream is broken, or the next one is waited for."""
        return self._waits or self._port.is_away

    @property
    def hello(self) -> EnvironmentHello:
        return self._port.hello

    def send(self, call: EnvironmentCall) -> None:
        """Hand it over, if need be to the next environment. Raises EnvironmentFault."""
        if self.blank and isinstance(call, Play):
            self.blank.difference_update(call.slots.tolist(), call.starts)
        try:
            self._port.send(call)
        except EnvironmentFault as fault:
            self._lose(call, fault)
            self._port.send(call)
        self._calls.append(call)

    def receive(self, timeout_s: float) -> EnvironmentReply | None:
        """Wait for the answer; a lost one is a fault, once the next environment is here."""
        if not self._owed:
            try:
                reply = self._port.receive(timeout_s)
            except (BadReply, EnvironmentTimeout):
                self._calls.popleft()
                raise
            except EnvironmentFault as fault:
                self._lose(self._calls[0], fault)
            else:
                if reply is not None:
                    self._calls.popleft()
                if isinstance(reply, EnvironmentReady):
                    self._ready = reply
                return reply
        self._owed -= 1
        call = self._calls.popleft()
        if not isinstance(call, Play):
            raise EnvironmentFault(self._why)
        assert self._ready is not None, "init comes first"
        faults = dict.fromkeys((*call.slots.tolist(), *call.starts), self._why)
        return Played.blank(self._ready.spec, call, faults)

    def filenos(self) -> Sequence[int]:
        """The descriptors of the present environment."""
        return () if self._owed else self._port.filenos()

    def is_ready(self) -> bool:
        return self._owed > 0 or self._port.is_ready()

    def renew(self, slot: int) -> None:
        """Do nothing: an environment of worlds replaces a failed world by itself."""

    def refuse(self, refused: BadReply) -> None:
        self._port.refuse(refused)

    def close(self, reason: str) -> None:
        self._port.close(reason)

    def _lose(self, call: EnvironmentCall, fault: EnvironmentFault) -> None:
        """Wait for the next environment, unless this one is here, or nothing was begun in it.

        Raises EnvironmentFault, as when none comes, or another one does.
        """
        try:
            if not self._port.is_gone or isinstance(call, EnvironmentInit | Cleanup):
                raise fault
            self._why = str(fault)
            self._begin(fault)
            self._owed = len(self._calls)
        except BaseException:
            self._owed = 0
            self._calls.clear()
            raise

    def _begin(self, fault: EnvironmentFault) -> None:
        assert self._ready is not None, "init comes first"
        slots, self._waits = self._ready.spec.slots, True
        try:
            self._port = self._following()
            self._port.send(EnvironmentInit(slots))
            ready = self._port.receive(self._timeout_s)
            if not isinstance(ready, EnvironmentReady):
                raise EnvironmentFault("env_init", got=type(ready).__name__, wanted="its TaskSpec")
            self._check_same(self._port.hello, ready)
        except (EnvironmentFault, BadReply) as none:
            raise EnvironmentFault(f"{fault}; and then: {none}") from none
        self.blank, self._waits = {*range(slots)}, False

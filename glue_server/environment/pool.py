"""The slots' environments: the protocol, those of this process, and one behind a port."""

from __future__ import annotations

import logging
import math
import select
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from env_adapters import Suite
from glue_server.environment.port import EnvironmentPort, ask_environment
from glue_server.processes.interrupts import hurried
from glue_server.timeouts import Timeouts
from reglue.environments.environment import Worlds
from reglue.errors import BadReply, EnvironmentFault, RoutineRefused
from reglue.messages.agent import Cleanup, Done
from reglue.messages.environment import EnvironmentInit, Play, Played, Ready
from reglue.spec import TaskSpec

log = logging.getLogger("reglue")

_CLEANUP_S = 10.0  # how long the end of a run waits for an environment's env_cleanup


class Pool(Protocol):
    """S environments. Plays that are under way are of different slots, and answered in order."""

    @property
    def spec(self) -> TaskSpec:
        """The task, with S slots."""

    @property
    def executed(self) -> int:
        """Steps simulated so far, replayed ones too."""

    def send(self, play: Play) -> None:
        """Hand work over."""

    def receive(self) -> Played:
        """Wait for the answer to the oldest Play; a slot's fault is in it.

        Raises EnvironmentFault when all of the environments are lost.
        """

    def filenos(self) -> Sequence[int]:
        """One of them is readable when a part of that answer waits; none: it is there."""

    def is_ready(self) -> bool:
        """Whether the whole of it is there, or its time is up."""

    def close(self) -> None:
        """End every environment."""


class LocalPool:
    """A suite's worlds in this process, one after another."""

    def __init__(self, suite: Suite, slots: int) -> None:
        self.executed = 0
        self._worlds = Worlds(suite)
        self._worlds.spec = self.spec = self._worlds.env_init(slots)
        self._answers: deque[Played] = deque()

    def send(self, play: Play) -> None:
        """Step and start at once; `receive` hands the answer out."""
        self._answers.append(self._worlds.play(play))
        self.executed += len(play.slots)

    def receive(self) -> Played:
        """It is there already."""
        return self._answers.popleft()

    def filenos(self) -> Sequence[int]:
        """None."""
        return ()

    def is_ready(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Close every world."""
        self._worlds.env_cleanup()


class PortPool:
    """The slots of the environment behind a port, all in one call.

    Raises EnvironmentFault when it is lost, RoutineRefused if it refuses to begin.
    """

    def __init__(
        self, port: EnvironmentPort, slots: int, *, timeout_s: float = Timeouts.environment_s
    ) -> None:
        self.executed = 0
        self._port = port
        self._timeout_s = timeout_s
        self._under_way: deque[Play] = deque()
        self._since = -math.inf  # when it could begin with the oldest Play, monotonic seconds
        self._is_closed = False
        self._is_lost = False
        self.ready = ask_environment(port, EnvironmentInit(slots), Ready, timeout_s=timeout_s)
        check_ready(self.ready, slots)

    @property
    def spec(self) -> TaskSpec:
        """What the environment promised."""
        return self.ready.spec

    @property
    def variants(self) -> Mapping[str, int]:
        """Its tasks, in their order, and how many variants each has."""
        return self.ready.variants

    def send(self, play: Play) -> None:
        """Hand the work over."""
        if not self._under_way:
            self._since = time.monotonic()
        self._under_way.append(play)
        self._port.send(play)
        self.executed += len(play.slots)

    def receive(self) -> Played:
        """The answer. One that does not fit is the fault of every slot that was asked."""
        play = self._under_way.popleft()
        self._is_lost = True  # unless it answers
        try:
            played = self._port.receive(self._timeout_s)
            if not isinstance(played, Played):
                raise BadReply("WRONG_KIND", got=type(played).__name__, wanted="Played")
        except BadReply as refused:
            self._port.refuse(refused)
            played = faulty(self.spec, play, f"the environment's answer does not fit: {refused}")
        self._is_lost = False
        self._since = time.monotonic()
        return played

    def filenos(self) -> Sequence[int]:
        """The port's."""
        fileno = self._port.fileno()
        return () if fileno is None else (fileno,)

    def is_ready(self) -> bool:
        """Whether something waits, or its time is up."""
        filenos = self.filenos()
        if time.monotonic() >= self._since + self._timeout_s:
            return True
        return not filenos or bool(select.select(filenos, (), (), 0)[0])

    def close(self) -> None:
        """env_cleanup, unless the environment is lost already, and let it go."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if not (self._is_lost or self._under_way):
                most_s = min(self._timeout_s, hurried(_CLEANUP_S))
                ask_environment(self._port, Cleanup(), Done, timeout_s=most_s)
        except (EnvironmentFault, RoutineRefused) as error:
            log.debug("the environment was not cleaned up: %s", error)
        self._port.close("the run is over, thank you")


def faulty(spec: TaskSpec, play: Play, what: str) -> Played:
    """An answer in which every slot that was asked is at fault."""
    return Played.blank(spec, play, dict.fromkeys((*play.slots.tolist(), *play.starts), what))


def check_ready(ready: Ready, slots: int) -> None:
    """Raise EnvironmentFault for a promise that cannot be played."""
    if ready.spec.slots != slots:
        raise EnvironmentFault(f"env_init: got a TaskSpec of {ready.spec.slots} slots, not {slots}")
    if not ready.variants or min(ready.variants.values()) < 1:
        raise EnvironmentFault(
            f"env_init: got tasks {dict(ready.variants)}, wanted at least one, with variants"
        )

"""The slots' environments: the protocol, and the form that plays through a port."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol, TypeVar

from env_adapters import Cell, Suite
from glue_server.environment_port import EnvironmentPort, ask_environment
from glue_server.played import ActionRows, Answer, PlayRows
from glue_server.timeouts import Timeouts
from reglue.calls import Cleanup, Done
from reglue.environment import Worlds, words
from reglue.environment_calls import EnvironmentCall, EnvironmentInit, Play, Played, Ready
from reglue.errors import BadReply, EnvironmentFault, RoutineRefused
from reglue.spec import TaskSpec

log = logging.getLogger("reglue")

_Kind = TypeVar("_Kind")

_CLEANUP_S = 10.0  # how long the end of a run waits for an environment's env_cleanup


class Pool(Protocol):
    """S environments. What is sent is answered slot by slot, in any order."""

    @property
    def spec(self) -> TaskSpec:
        """The task, with S slots."""

    @property
    def executed(self) -> int:
        """Steps simulated so far, replayed ones too."""

    def send(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> None:
        """Begin episodes in slots, take steps (action bytes) in others."""

    def receive(self) -> dict[int, Answer]:
        """Wait until slots have answered; those that have."""

    def close(self) -> None:
        """End every environment."""


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
        self._play: Play | None = None
        self._is_closed = False
        self._is_lost = False
        self.ready = ask_environment(port, EnvironmentInit(slots), Ready, timeout_s=timeout_s)
        _check_ready(self.ready, slots)
        self._rows = PlayRows(self.ready.spec)

    @property
    def spec(self) -> TaskSpec:
        """What the environment promised."""
        return self.ready.spec

    @property
    def variants(self) -> Mapping[str, int]:
        """Its tasks, in their order, and how many variants each has."""
        return self.ready.variants

    def send(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> None:
        """Hand the work over."""
        self._play = self._rows.play(starts, steps)
        self._is_lost = True  # unless it is answered
        self._port.send(self._play)
        self.executed += len(steps)

    def receive(self) -> dict[int, Answer]:
        """All answers. One that does not fit is the fault of every slot that was asked."""
        assert self._play is not None, "receive() follows send()"
        try:
            played = self._port.receive(self._timeout_s)
            self._is_lost = False
            if not isinstance(played, Played):
                raise BadReply("WRONG_KIND", got=type(played).__name__, wanted="Played")
        except BadReply as refused:
            self._is_lost = False
            self._port.refuse(refused)
            slots = (*self._play.slots.tolist(), *self._play.starts)
            fault = EnvironmentFault(f"the environment's answer does not fit: {refused}")
            return dict.fromkeys(slots, fault)
        return self._rows.answers(self._play, played)

    def ask(self, call: EnvironmentCall, kind: type[_Kind]) -> _Kind:
        """A routine other than those; see ask_environment."""
        return ask_environment(self._port, call, kind, timeout_s=self._timeout_s)

    def close(self) -> None:
        """env_cleanup, unless the environment is lost already, and let it go."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if not self._is_lost:
                patience_s = min(self._timeout_s, _CLEANUP_S)
                ask_environment(self._port, Cleanup(), Done, timeout_s=patience_s)
        except (EnvironmentFault, RoutineRefused) as error:
            log.debug("the environment was not cleaned up: %s", error)
        self._port.close("the run is over, thank you")


class LocalPool:
    """A suite's worlds in this process, one after another.

    As PortPool over them, without the packing, which costs a light world's step twice over.
    """

    def __init__(self, suite: Suite, slots: int) -> None:
        self.executed = 0
        self._worlds = Worlds(suite)
        self._worlds.spec = self.spec = self._worlds.env_init(slots)
        self._actions = ActionRows(self.spec)
        self._answers: dict[int, Answer] = {}

    def send(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> None:
        """Begin and step at once; `receive` hands the answers out."""
        for slot, row in steps.items():
            action = {name: rows[0] for name, rows in self._actions.read([row]).items()}
            try:
                self._answers[slot] = self._worlds.step(slot, action)
            except Exception as error:  # noqa: BLE001 - the edge of somebody's world
                self._answers[slot] = EnvironmentFault(words(error))
        for slot, cell in starts.items():
            try:
                self._answers[slot] = self._worlds.start(slot, cell)
            except Exception as error:  # noqa: BLE001 - the edge of somebody's world
                self._answers[slot] = EnvironmentFault(words(error))
        self.executed += len(steps)

    def receive(self) -> dict[int, Answer]:
        """All answers; they are there already."""
        answers, self._answers = self._answers, {}
        return answers

    def close(self) -> None:
        """Close every world."""
        self._worlds.env_cleanup()


def _check_ready(ready: Ready, slots: int) -> None:
    """Raise EnvironmentFault for a promise that cannot be played."""
    if ready.spec.slots != slots:
        raise EnvironmentFault(f"env_init: got a TaskSpec of {ready.spec.slots} slots, not {slots}")
    if not ready.variants or min(ready.variants.values()) < 1:
        raise EnvironmentFault(
            f"env_init: got tasks {dict(ready.variants)}, wanted at least one, with variants"
        )

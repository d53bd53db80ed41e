"""Worlds to simulate, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.worlds.hub_world import HubWorld


class World(Protocol):
    """Who takes part in a run, and what has to hold."""

    limit_s: float
    """Virtual seconds after which it is to be over, whatever goes wrong."""

    def targets(self) -> Sequence[Process]:
        """The processes that misfortunes may hit now."""

    def is_over(self) -> bool:
        """Whether all has happened that was to happen."""

    def check(self) -> None:
        """Raise Violation if something does not hold at the end."""


WORLDS: Mapping[str, Callable[[Scheduler], World]] = MappingProxyType({"hub": HubWorld})

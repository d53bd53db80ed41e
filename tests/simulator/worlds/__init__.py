"""Worlds to simulate, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Protocol

from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.worlds.competition_world import CompetitionWorld
from tests.simulator.worlds.evaluation_world import EvaluationWorld
from tests.simulator.worlds.hub_world import HubWorld
from tests.simulator.worlds.remote_world import RemoteWorld


class World(Protocol):
    """Who takes part in a run, and what has to hold."""

    disturbances: ClassVar[Sequence[str]]
    """Their kinds, a more likely one several times."""

    disturbances_s: ClassVar[float]
    """Virtual seconds in which things go wrong."""

    limit_s: ClassVar[float]
    """Virtual seconds after which it is to be over, whatever goes wrong."""

    def __init__(self, run: Scheduler) -> None:
        """Let everybody begin."""

    def targets(self) -> Sequence[Process]:
        """The processes that disturbances may hit now."""

    def is_over(self) -> bool:
        """Whether all has happened that was to happen."""

    def check(self) -> None:
        """Raise Violation if something does not hold at the end."""

    def close(self) -> None:
        """Remove what it has left on the disk."""


WORLDS: Mapping[str, type[World]] = MappingProxyType(
    {
        "hub": HubWorld,
        "evaluation": EvaluationWorld,
        "remote": RemoteWorld,
        "competition": CompetitionWorld,
    }
)

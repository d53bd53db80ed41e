"""Simulators that a suite's worlds share."""

from __future__ import annotations

from env_adapters.cache import DiskCache, cache_folder
from env_adapters.metaworld.models import Models
from env_adapters.metaworld.rests import SettledStates
from env_adapters.metaworld.shared_env import SharedEnvs
from env_adapters.metaworld.simulator import Simulator


class SimulatorPool:
    """Lends simulators, and keeps those that come back for whoever wants their task next.

    Of idle ones at most `most_idle` are kept; the one that has been idle longest is
    dropped. Environments and models stay, so that all 50 tasks take 1.2 GB. For one thread.
    """

    def __init__(self, most_idle: int = 64) -> None:
        self._most_idle = most_idle
        cache = DiskCache(cache_folder())
        self._envs = SharedEnvs(Models(cache), SettledStates(cache))
        self._idle: list[Simulator] = []  # the longest idle first

    def take(self, task: str) -> Simulator:
        """A simulator of `task`, to be given back."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place].task == task:
                return self._idle.pop(place)
        return Simulator(task, self._envs)

    def give_back(self, simulator: Simulator) -> None:
        """Its episode is over or abandoned."""
        self._idle.append(simulator)
        if len(self._idle) > self._most_idle:
            self._idle.pop(0)

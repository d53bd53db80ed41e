"""Places environments' processes on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable

from env_adapters import SuiteName
from glue_server import EnvironmentCalls, WorkersPort
from glue_server.peers.hosts import PeerSource
from glue_server.processes.interrupts import hurried
from glue_server.processes.readable import readable
from reglue.errors import EnvironmentFault
from reglue_bench.engines.ray.ray_players import RayPlayers
from reglue_bench.placement.placed_worker import EnvironmentSettings, FromEnvironment, PlacedWorker

_LOOK_S = 0.05
_LEAVE_S = 3.0  # how long processes may take to leave


class Placement:
    """A run's environments on a cluster. Its maker closes it after the environments."""

    def __init__(  # noqa: PLR0913 - what its session knows
        self,
        players: RayPlayers[FromEnvironment],
        settings: EnvironmentSettings,
        *,
        admit: Callable[[], PeerSource],
        note_machine: Callable[[str], None],
        timeout_s: float,
        connect_timeout_s: float,
        say: Callable[[str], None],
        note_event: Callable[[str], None],
    ) -> None:
        """`admit` makes a place, with a token of its own, for one environment that connects.

        `note_event` hears that one is lost and replaced.
        """
        self._players = players
        self._settings = settings
        self._admit = admit
        self._note_machine = note_machine
        self._timeout_s, self._connect_timeout_s = timeout_s, connect_timeout_s
        self._say = say
        self._note_event = note_event
        self._joining: list[PlacedWorker] = []
        self._begun = 0
        self._shown_messages: set[str] = set()

    def environment(self, suite: SuiteName, slots: int) -> EnvironmentCalls:
        """Environments in as many processes as the cluster has cores, or fewer slots.

        Raises UsageError, EnvironmentFault.
        """
        self._players.open()
        workers = min(self._players.most, slots)
        port = WorkersPort(
            suite,
            workers=workers,
            timeout_s=self._timeout_s,
            start_s=self._connect_timeout_s,
            start=lambda: self._begin(has_core=self._begun < workers),
            tell=self._note_event,
        )
        calls = EnvironmentCalls(port, timeout_s=self._timeout_s)
        return calls.opened(slots)

    def close(self) -> None:
        """Disconnect from the cluster, which ends what is there."""
        self._players.close(hurried(_LEAVE_S))

    def _begin(self, *, has_core: bool) -> PlacedWorker:
        """Ask for a process. One that replaces another shares a core: perhaps none is free."""
        self._begun += 1
        player = self._players.begin(self._begun, cores=int(has_core))
        worker = PlacedWorker(
            player,
            self._settings,
            self._admit(),
            wait=self._wait_for,
            note_machine=self._note_machine,
            say=self._say_once,
            timeout_s=self._timeout_s,
        )
        self._joining.append(worker)
        return worker

    def _wait_for(self, worker: PlacedWorker) -> None:
        """Let all connect that are about to, until this one has. Raises what it says."""
        deadline = time.monotonic() + 2 * self._connect_timeout_s  # a core is waited for, too
        try:
            while not worker.has_joined():
                if time.monotonic() >= deadline:
                    raise EnvironmentFault(f"{worker.name} did not connect in time")
                for each in readable(self._joining, _LOOK_S):
                    each.listen()
                worker.check()
                self._joining = [each for each in self._joining if not each.is_silent()]
        finally:
            if worker in self._joining:
                self._joining.remove(worker)

    def _say_once(self, text: str) -> None:
        if text not in self._shown_messages:
            self._shown_messages.add(text)
            self._say(text)

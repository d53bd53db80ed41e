"""A hub whose runs have processes of their own, and three peers that want to meet there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import reglue
from glue_server.peers import run_process
from glue_server.peers.run_processes import RunProcesses
from glue_server.rpc.gateways.run_gateway import GatewayServer
from glue_server.timeouts import Timeouts
from reglue.environments.slot_worlds import Worlds
from reglue.examples.random_agent import RandomAgent
from tests.simulator.scheduler import Process, Scheduler, Violation
from tests.simulator.virtual_processes import mains
from tests.worlds import Corridor

_ADDRESS = "127.0.0.1:4096"
_TOKENS = {"agent": "a" * 32, "environment": "b" * 32, "experiment": "c" * 32}
_HORIZON, _EPISODES = 5, 3
_STARTS_S = 6.0  # the time in which peers start
_PAUSE_S = (0.1, 2.0)  # before one that has ended is started again

mains["glue_server.peers.run_process"] = run_process.main


class HubWorld:
    """Everybody meets and plays, whatever happens to runs, peers and connections before.

    Peers that have ended are started again, as their people would. The hub itself stays.
    """

    misfortunes: ClassVar[Sequence[str]] = ("stop", "stop", "kill", "cut")
    misfortunes_s: ClassVar[float] = 8.0
    limit_s: ClassVar[float] = 50.0
    """A process is stopped for 8 s at most. A run that is useless then is ended after 30 s: the
    longest way to the next one."""

    def __init__(self, run: Scheduler) -> None:
        self._run = run
        self._steps: list[int] | None = None  # of each episode, once the program is over
        self._peers: dict[str, Process] = {}
        run.process("hub", _serve)
        self._keep("agent", _play_agent)
        self._keep("environment", _play_environment)
        self._keep("experiment", self._play_program)

    def targets(self) -> Sequence[Process]:
        """Runs and peers."""
        runs = [each for each in self._run.processes if each.name == "run_process"]
        return [*runs, *self._peers.values()]

    def is_over(self) -> bool:
        """Whether the program has been played."""
        return self._steps is not None

    def check(self) -> None:
        """Raise Violation if its episodes are not what they should be."""
        if self._steps != [_HORIZON] * _EPISODES:
            raise Violation(f"got episodes of {self._steps} steps, wanted {_HORIZON} each")

    def close(self) -> None:
        """There is nothing on the disk."""

    def _keep(self, role: str, play: Callable[[], None]) -> None:
        """Start a peer, and again when it has ended."""
        rng = self._run.rng

        def keep() -> None:
            time.sleep(rng.uniform(0.0, _STARTS_S))
            while not self.is_over():
                peer = self._peers[role] = self._run.process(role, play)
                self._run.wait(peer.has_ended)
                time.sleep(rng.uniform(*_PAUSE_S))

        self._run.process(f"{role}'s shell", keep)

    def _play_program(self) -> None:
        with reglue.Experiment(
            _ADDRESS, _TOKENS["experiment"], transport="grpc", handle_signals=False
        ) as rl:
            rl.init()
            steps = []
            for _ in range(_EPISODES):
                rl.episode()
                steps.append(rl.num_steps())
        self._steps = steps


def _serve() -> None:
    settings = run_process.RunSettings(
        reconnect_window_s=10.0,
        transport="grpc",
        open_unix_socket=False,
        timeouts=Timeouts(),
        secret=None,
        tls=None,
    )
    begin = RunProcesses(settings, host="127.0.0.1", public_host="", ports=None)
    with GatewayServer(_ADDRESS, tokens=_TOKENS, begin=begin, most=begin.most):
        while True:
            time.sleep(3600)


def _play_agent() -> None:
    _connect(RandomAgent(), "agent")


def _play_environment() -> None:
    _connect(Worlds(Corridor(solved={"walk": [0]}, horizon=_HORIZON)), "environment")


def _connect(peer: object, role: str) -> None:
    reglue.connect(peer, _ADDRESS, _TOKENS[role], name=role, transport="grpc", handle_signals=False)

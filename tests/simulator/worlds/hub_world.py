"""A hub whose runs have processes of their own, and three peers that want to meet there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
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
from tests.simulator.worlds.restarting import keep_starting
from tests.worlds import Corridor

_ADDRESS = "127.0.0.1:4096"
_TOKENS = {"agent": "a" * 32, "environment": "b" * 32, "experiment": "c" * 32}
_HORIZON, _EPISODES = 5, 3
_STARTS_S = 6.0  # the time in which peers start

mains["glue_server.peers.run_process"] = run_process.main


class HubWorld:
    """Everybody meets and plays, whatever happens to runs, peers and connections before.

    Peers that have ended are started again, as their people would. The hub itself stays.
    """

    disturbances: ClassVar[Sequence[str]] = (
        *("stop", "stop", "kill", "cut", "interrupt", "clock", "refuse", "garble"),
    )
    disturbances_s: ClassVar[float] = 8.0
    limit_s: ClassVar[float] = 50.0
    """A process is stopped for 8 s at most. A run that is useless then is ended after 30 s: the
    longest way to the next one."""

    def __init__(self, run: Scheduler) -> None:
        self._run = run
        self._steps: list[int] | None = None  # of each episode, once the program is over
        run.process("hub", _serve)
        for role, play in (
            ("agent", _play_agent),
            ("environment", _play_environment),
            ("experiment", self._play_program),
        ):
            keep_starting(run, role, play, until=self.is_over, first_within_s=_STARTS_S)

    def targets(self) -> Sequence[Process]:
        """Runs and peers."""
        return [each for each in self._run.processes if each.name in ("run_process", *_TOKENS)]

    def is_over(self) -> bool:
        """Whether the program has been played."""
        return self._steps is not None

    def check(self) -> None:
        """Raise Violation if its episodes are not what they should be."""
        if self._steps != [_HORIZON] * _EPISODES:
            raise Violation(f"got episodes of {self._steps} steps, wanted {_HORIZON} each")

    def close(self) -> None:
        """There is nothing on the disk."""

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
        threading.Event().wait()


def _play_agent() -> None:
    _connect(RandomAgent(), "agent")


def _play_environment() -> None:
    _connect(Worlds(Corridor(solved={"walk": [0]}, horizon=_HORIZON)), "environment")


def _connect(peer: object, role: str) -> None:
    reglue.connect(peer, _ADDRESS, _TOKENS[role], name=role, transport="grpc", handle_signals=False)

"""Runs that are played without pause, in which a signal interrupts one of the three programs."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from glue_server.rpc import GlueServer
from reglue import Agent, Experiment, Turn, connect
from reglue.environments.slot_worlds import Worlds
from reglue.errors import AgentFault, EnvironmentFault
from reglue.messages.environment_messages import Play, Played
from reglue.net.join_string import Transport
from tests.agent_clients.client_programs import (
    JULIA,
    LANGUAGES,
    ROOT,
    built,
    conformance_program,
    started,
    typescript,
)
from tests.glue_server.hubs import a_hub
from tests.glue_server.playing import SOLVED
from tests.worlds import Corridor

PATIENCE_S = 60.0
_STARTS_S = 300.0  # how long a program may take to be there: Julia compiles first
FOREVER_S = 10 * PATIENCE_S  # how long the glue waits for a peer whose connection broke
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
ROLES = ("agent", "environment", "experiment")
SCRIPT = "python script"
"""Beside `python`, whose agents and environments are played by `reglue join`."""
PROGRAMS = [
    *((language, role) for language in LANGUAGES for role in ROLES),
    *((SCRIPT, role) for role in ("agent", "environment")),
]
"""The language and the role of each program that is interrupted."""

_CALLS = 20  # that were carried out, or a few more, when the signal comes
_SCRIPTS = {
    "agent": "reglue.connect(reglue.conformance.ConformanceAgent())\n",
    "environment": "reglue.connect(reglue.conformance.ConformanceEnvironment())\n",
    "experiment": "with reglue.Experiment() as rl:\n  rl.init()\n  while True: rl.episode(20)\n",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """The effect of one signal."""

    why: str  # the run is over, in the words that one of the other two got
    after_s: float  # from the signal on
    exit_code: int
    said: str  # on stderr

    def mistake(self, number: signal.Signals) -> str:
        """The mistake; empty if there is none."""
        is_said = "interrupted" in self.said and "Traceback" not in self.said
        if self.exit_code == CODES[number] and "interrupted" in self.why and is_said:
            return ""
        return f"exit code {self.exit_code}, the others heard {self.why!r}, it said {self.said!r}"


def interruptions(
    program: tuple[str, str],
    transport: Transport,
    numbers: Sequence[signal.Signals],
    libreglue: Mapping[str, str],
) -> Iterator[Heard]:
    """Let each signal interrupt the program, in a run of its own at one glue."""
    language, role = program
    with (
        ThreadPoolExecutor(2) as pool,
        a_hub(transport=transport, reconnect_window_s=FOREVER_S) as (server, _),
    ):
        for count, number in enumerate(numbers):
            busy = _Busy(_CALLS + 7 * count)
            there = (server.address, server.tokens[role])
            with started(command(language, role), *there, **libreglue) as process:
                left = [pool.submit(play) for play in _others(role, server, busy)]
                assert busy.wait(_STARTS_S), "nothing is played"
                sent = time.monotonic()
                process.send_signal(number)
                why = left[0].result(PATIENCE_S)
                after_s = time.monotonic() - sent
                _, said = process.communicate(timeout=PATIENCE_S)
                left[1].result(PATIENCE_S)
            yield Heard(why, after_s, process.returncode, said)


def command(language: str, role: str) -> list[str]:
    """That of a program that plays until the glue or a signal ends it."""
    endless = ["1", "1000000000"]  # runs, and episodes in each
    match language, role:
        case ("python", "experiment") | ("python script", _):
            script = f"import reglue, reglue.conformance\n{_SCRIPTS[role]}"
            return [sys.executable, "-c", script]
        case "cpp", "experiment":
            return [str(built("cpp", "endless_experiment", "tests/endless_experiment"))]
        case "c", "experiment":
            return [str(built("c", "rl_benchmark", "rl_benchmark")), *endless]
        case "julia", "experiment":
            return [*JULIA, str(ROOT / "agent_clients/julia/examples/rl_benchmark.jl"), *endless]
        case "typescript", "experiment":
            return ["node", str(typescript("examples/rl_benchmark.js")), *endless]
        case _:
            return conformance_program(language, role)


class _Busy(threading.Event):
    """Set once so many calls were carried out."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._left = calls

    def count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.set()


class _Still(Agent):
    def __init__(self, busy: _Busy) -> None:
        self._busy = busy

    def turn(self, turn: Turn) -> Any:
        self._busy.count()
        return np.zeros((len(turn.steps) + len(turn.starts), *self.spec.actions[0].shape))


class _Walks(Worlds):
    def __init__(self, busy: _Busy) -> None:
        super().__init__(Corridor(solved=SOLVED))
        self._busy = busy

    def play(self, play: Play) -> Played:
        self._busy.count()
        return super().play(play)


def _others(role: str, server: GlueServer, busy: _Busy) -> list[Callable[[], str]]:
    """The other two of a run, each returns why it is over; the program first, as it hears most."""
    others: dict[str, Callable[[], str]] = {
        "experiment": partial(_play_on, server),
        "agent": partial(connect, _Still(busy), server.address, server.tokens["agent"]),
        "environment": partial(connect, _Walks(busy), server.address, server.tokens["environment"]),
    }
    return [play for other, play in others.items() if other != role]


def _play_on(server: GlueServer) -> str:
    """The error that ends a benchmark program which plays without pause."""
    with Experiment(server.address, server.tokens["experiment"]) as rl:
        rl.init()
        try:
            while True:
                rl.episode(20)
        except (AgentFault, EnvironmentFault) as lost:
            return str(lost)

"""Agents in Julia, and calls of tests to them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Phase, TaskSpec, TensorSpec
from reglue.messages.agent_messages import NO_ENDS, NO_STEPS, AgentInit, Starts, Turn
from tests.agent_clients.client_programs import JULIA, started
from tests.leftovers import nothing_left

PATIENCE_S = 60.0
NUMBERS = TaskSpec((TensorSpec("seen", "float64"),), (TensorSpec("done", "int64"),))


def play(port: AgentPort, spec: TaskSpec | None = None, seen: object = (0.5,)) -> list[object]:
    """The agent's answers to the task and to a start in slot 0. Raise AgentFault if it fails."""
    spec = spec or NUMBERS
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    observations = {spec.observations[0].name: np.asarray(seen)}
    turn = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), observations)
    answers: list[object] = []
    for call in (AgentInit(spec), turn):
        port.send(call)
        answers.append(port.receive(PATIENCE_S))
    return answers


def written(script: Path, start: str, *, plays: str = "main", options: str = "") -> Path:
    """An agent that does `start` at an episode's start, on line 3."""
    script.write_text(
        "using Reglue\n"
        "struct Author <: Agent end\n"
        f"Reglue.agent_start!(::Author, actions, observations, starts) = {start or 'nothing'}\n"
        "Reglue.agent_step!(::Author, actions, rewards, observations, steps) = nothing\n"
        f"Reglue.{plays}(Author(); {options})\n"
    )
    return script


@contextmanager
def joined(
    script: Path, libreglue: Mapping[str, str], *flags: str
) -> Iterator[tuple[subprocess.Popen[str], AgentPort]]:
    """The script's process, and the glue's end of its session."""
    with (
        nothing_left(),
        GlueServer(places={"agent": 1}) as server,
        started(
            [*JULIA, *flags, str(script)], server.address, server.token, **libreglue
        ) as process,
    ):
        port = server.next("agent", PATIENCE_S)
        assert port is not None
        yield process, port

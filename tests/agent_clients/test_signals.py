"""Ctrl-C and SIGTERM, in every language: the glue hears of it, and the exit code says so."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue.errors import AgentFault, EnvironmentFault
from reglue.messages.agent_messages import AgentInit, Freeze
from reglue.messages.environment_messages import EnvironmentInit, Play
from reglue.net.join_string import Transport
from tests.agent_clients.client_programs import (
    JULIA,
    LANGUAGES,
    built,
    conformance_program,
    started,
    typescript,
)
from tests.agent_clients.julia import NUMBERS
from tests.leftovers import nothing_left
from tests.waiting import until

pytestmark = pytest.mark.timeout(900)  # the first test compiles the clients

PATIENCE_S = 60.0
FOREVER_S = 10 * PATIENCE_S  # how long the glue waits for a peer whose connection broke
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
ROLES = ("agent", "environment", "experiment")

# What each language plays, as a file of that name, if it needs one.
SCRIPTS = {
    ("python", "experiment"): "import reglue\nwith reglue.Experiment() as rl:\n    rl.init()\n",
    ("python", "connect"): "import reglue\n"
    "from reglue.examples.random_agent import RandomAgent\n"
    "reglue.connect(RandomAgent())\n",
    ("julia", "experiment"): "using Reglue\nReglue.main(rl_init!)\n",
}


def program(language: str, role: str, folder: Path) -> list[str]:
    """The command of a program that waits for the glue."""
    script = folder / "program"
    if text := SCRIPTS.get((language, role)):
        script.write_text(text)
        return [*(JULIA if language == "julia" else [sys.executable]), str(script)]
    match (language, role):
        case ("cpp", "experiment"):
            return [str(built("cpp", "patient_experiment", "tests/patient_experiment"))]
        case ("c", "experiment"):
            return [str(built("c", "rl_benchmark", "rl_benchmark")), "1", "1"]
        case ("typescript", "experiment"):
            return ["node", str(typescript("examples/rl_benchmark.js")), "1", "1"]
        case _:
            return conformance_program(language, role)


@contextmanager
def waiting(
    command: list[str], role: str, transport: Transport, libreglue: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """The program, which waits for the glue's next word, and the glue's end of its session."""
    with (
        nothing_left(),
        GlueServer(places={role: 1}, reconnect_window_s=FOREVER_S, transport=transport) as server,
        started(command, server.address, server.token, **libreglue) as process,
    ):
        port: Any = server.next(role, PATIENCE_S)
        assert port is not None
        if role == "experiment":
            assert port.next(PATIENCE_S) is not None
        else:
            port.send(AgentInit(NUMBERS) if role == "agent" else EnvironmentInit(1))
            port.receive(PATIENCE_S)
        yield process, port


def farewell(role: str, port: Any) -> str:
    """The reason that the glue got, however long it would have waited."""
    if role == "experiment":
        until(lambda: port.is_gone, "the glue knows that it has left")
        return str(port.why_gone)
    nothing = Play(np.zeros(0, np.uint32), {}, {})
    try:
        port.send(Freeze() if role == "agent" else nothing)
        port.receive(PATIENCE_S)
    except (AgentFault, EnvironmentFault) as fault:
        return str(fault)
    pytest.fail("it has answered")


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_glue_learns_of_a_signal_at_once_and_the_exit_code_names_it(
    language: str, role: str, number: signal.Signals, tmp_path: Path, libreglue: Mapping[str, str]
) -> None:
    command = program(language, role, tmp_path)
    with waiting(command, role, "unix", libreglue) as (process, port):
        process.send_signal(number)
        _, error_output = process.communicate(timeout=PATIENCE_S)
        if (language, role, number) == ("python", "experiment", signal.SIGINT):
            assert process.returncode == -signal.SIGINT  # as Python does; a shell says 130
        else:
            assert (process.returncode, error_output.count("Traceback")) == (CODES[number], 0), (
                error_output
            )
        assert "interrupted" in farewell(role, port)


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("language", ["python", "cpp", "c"])
def test_the_glue_learns_of_a_signal_over_grpc_too(
    language: str, number: signal.Signals, tmp_path: Path, libreglue: Mapping[str, str]
) -> None:
    command = program(language, "agent", tmp_path)
    with waiting(command, "agent", "grpc", libreglue) as (process, port):
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == CODES[number]
        until(lambda: port.is_gone, "the glue knows that it has left")
        assert "interrupted" in farewell("agent", port)


def test_a_script_that_connects_in_python_handles_sigterm(tmp_path: Path) -> None:
    with waiting(program("python", "connect", tmp_path), "agent", "unix", {}) as (process, port):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 143
        assert "interrupted" in farewell("agent", port)

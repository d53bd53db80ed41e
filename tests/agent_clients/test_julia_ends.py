"""Ends of programs in Julia: by Ctrl-C, by exceptions, by mistakes."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer
from reglue.errors import AgentDisconnected, AgentFault
from reglue.messages.agent_messages import AgentInit, Freeze
from tests.agent_clients.client_programs import JULIA, started
from tests.agent_clients.julia import NUMBERS, PATIENCE_S, joined, play, written
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.waiting import until

pytestmark = pytest.mark.timeout(900)  # the first test compiles the C library


def test_ctrl_c_while_it_waits_is_told_the_glue_and_is_exit_code_130(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    with joined(written(tmp_path / "main.jl", ""), libreglue) as (process, port):
        assert interrupted(process, port) == (130, "reglue: interrupted\n")


def test_ctrl_c_in_connect_is_thrown_where_julia_throws_it(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    """As in the REPL."""
    script = written(tmp_path / "connect.jl", "", plays="connect")
    text = script.read_text().replace("Reglue.connect", "@assert try Reglue.connect", 1)
    script.write_text(
        f"Base.exit_on_sigint(false)\n{text}catch error; error isa InterruptException end\n"
    )
    with joined(script, libreglue) as (process, port):
        assert interrupted(process, port) == (0, "")


def interrupted(process: subprocess.Popen[str], port: AgentPort) -> tuple[int, str]:
    """Interrupt an agent that waits; returns its exit code and what it printed."""
    port.send(AgentInit(NUMBERS))
    port.receive(PATIENCE_S)
    process.send_signal(signal.SIGINT)
    _, error_output = process.communicate(timeout=PATIENCE_S)
    port.send(Freeze())
    with raises(AgentDisconnected, "interrupted"):
        port.receive(PATIENCE_S)
    return process.returncode, error_output


def test_ctrl_c_ends_a_benchmark_program_that_waits_after_telling_the_glue(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.jl"
    script.write_text("using Reglue\nReglue.main(rl_init!)\n")
    with (
        nothing_left(),
        GlueServer(places={"experiment": 1}, reconnect_window_s=10 * PATIENCE_S) as server,
        started([*JULIA, str(script)], server.address, server.token, **libreglue) as process,
    ):
        port = server.next("experiment", PATIENCE_S)
        assert port is not None
        assert port.next(PATIENCE_S) is not None
        process.send_signal(signal.SIGINT)
        _, error_output = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, error_output) == (130, "reglue: interrupted\n")
        until(lambda: port.is_gone, "the glue knows that it has left")


def test_ctrl_c_ends_a_benchmark_program_that_waits_for_a_glue(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.jl"
    script.write_text("using Reglue\nReglue.main(rl_init!)\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with started([*JULIA, str(script)], address, "token", **libreglue) as process:
            listener.accept()[0].close()
            process.send_signal(signal.SIGINT)
            _, error_output = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, error_output.splitlines()[-1]) == (130, "reglue: interrupted")


def test_a_refused_routine_that_a_benchmark_program_does_not_catch_is_exit_code_1(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.jl"
    script.write_text("using Reglue\nReglue.main() do rl\n    rl_return(rl, 0)\nend\n")
    with (
        nothing_left(),
        GlueServer(places={"experiment": 1}) as server,
        started([*JULIA, str(script)], server.address, server.token, **libreglue) as process,
    ):
        _, error_output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert error_output.startswith("reglue: RoutineRefused: got slot 0, wanted an integer from 1")
    assert "program.jl:3" in error_output


def test_the_stack_trace_is_printed_before_the_glue_gets_the_fault(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    """The program that starts agents may kill one that failed."""
    script = written(tmp_path / "clumsy.jl", "actions[][1] = 1.5")
    with joined(script, libreglue) as (process, port):
        with raises(AgentFault, "InexactError"):
            play(port)
        process.kill()
        assert process.stderr is not None
        error_output = process.stderr.read()
    assert "InexactError" in error_output
    assert "clumsy.jl:3" in error_output


@pytest.mark.parametrize(
    ("start", "error"),
    [
        ("actions[][1] = 1.5", "InexactError: Int64(1.5)"),
        ('actions["act"] .= 1', 'got ["act"], wanted ["done"]'),
        ("(actions = [1]; nothing)", 'got no actions from agent_start!, wanted ["done"]'),
    ],
)
def test_an_error_of_an_agent_is_printed_once_with_its_line_and_is_exit_code_1(
    libreglue: Mapping[str, str], tmp_path: Path, start: str, error: str
) -> None:
    script = written(tmp_path / "wrong.jl", start)
    with joined(script, libreglue) as (process, port):
        with pytest.raises(AgentFault) as fault:
            play(port)
        port.close("farewell")
        _, error_output = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    for words in (error_output, str(fault.value)):
        assert words.count(error) == 1
    assert "wrong.jl:3" in error_output or "agent_start!" in error
    assert "wrong.jl" not in str(fault.value), "its trace stays at home"
    assert error_output.startswith("reglue: the agent failed: ")


def test_connect_rethrows_the_error_of_an_agent(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    script = written(tmp_path / "caught.jl", 'error("told to fail")', plays="connect")
    text = script.read_text().replace("Reglue.connect", "@assert try Reglue.connect", 1)
    script.write_text(f"{text}catch error; error isa ErrorException end\n")
    with joined(script, libreglue) as (process, port):
        with raises(AgentFault, "told to fail"):
            play(port)
        port.close("farewell")
        assert process.wait(PATIENCE_S) == 0

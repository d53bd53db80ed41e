"""The Julia client: its own tests, agents at a glue, and what becomes of those that fail."""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server.agent.port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Box, Cell, Phase, TaskSpec, TensorSpec
from reglue.errors import AgentFault
from reglue.messages.agent import (
    NO_ENDS,
    NO_STEPS,
    Actions,
    AgentInit,
    Freeze,
    RoutineDone,
    Starts,
    Turn,
)
from reglue.messages.environment import EnvironmentInit, EnvironmentReady, Play, Played
from reglue_bench import evaluate
from reglue_bench.results.result import Result
from tests.agent_clients.programs import (
    JULIA,
    ROOT,
    built,
    keeps_the_rules,
    online,
    peers,
    run,
    started,
)
from tests.glue_server.hubs import a_hub
from tests.leftovers import nothing_left
from tests.waiting import until

PATIENCE_S = 60.0
NUMBERS = TaskSpec((TensorSpec("seen", "float64"),), (TensorSpec("done", "int64"),))
CLIENT = ROOT / "agent_clients/julia"

pytestmark = pytest.mark.timeout(900)  # the first test compiles the C library


@pytest.fixture(scope="module")
def library() -> Mapping[str, str]:
    """The environment in which Julia finds it."""
    return {"REGLUE_LIBRARY": str(built("c", "reglue_c", "libreglue.so"))}


def test_its_own_tests_pass(library: Mapping[str, str]) -> None:
    run(*JULIA, str(CLIENT / "test/runtests.jl"), environment=library)


@pytest.mark.parametrize(
    ("role", "transport"), [("agent", "grpc"), ("environment", "grpc"), ("experiment", "unix")]
)
def test_it_keeps_the_rules(library: Mapping[str, str], role: str, transport: str) -> None:
    """The C library carries its messages: test_c.py shows all of it over both transports."""
    program = shlex.join([*JULIA, str(CLIENT / f"conformance/{role}.jl")])
    keeps_the_rules(role, program, transport, library)


def test_sarsa_in_julia_learns_to_the_bit_as_in_python(
    library: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in library.items():
        monkeypatch.setenv(name, value)
    command = shlex.join([*JULIA, str(CLIENT / "examples/sarsa.jl")])
    car, seed = "online:mountain-car", 3
    julia = evaluate(car, agent="", agent_cmd=command, runs=2, episodes=5, seed=seed)
    python = evaluate(car, agent="sarsa", runs=2, episodes=5, seed=seed)
    assert _returns(julia) == _returns(python)


def test_a_network_in_julia_learns_cart_pole(
    library: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in library.items():
        monkeypatch.setenv(name, value)
    command = shlex.join([*JULIA, str(CLIENT / "examples/reinforce.jl")])
    pole = "online:gymnasium:CartPole-v1"
    result = evaluate(pole, agent="", agent_cmd=command, runs=1, episodes=150, seed=1)
    assert result.complete
    assert result.online is not None
    returns = result.online.runs[0].line
    assert np.mean(returns[-30:]) > 100 > 3 * np.mean(returns[:30])


def test_mountain_car_in_julia_is_the_built_in_one_to_the_bit(
    library: Mapping[str, str],
) -> None:
    """Sarsa in Python learns the same in it."""
    script, seed = CLIENT / "examples/mountain_car.jl", 3

    def start(where: str) -> AbstractContextManager[object]:
        return started([*JULIA, str(script)], where, "", **library)

    julia = online(start, agent="sarsa", episodes=5, seed=seed)
    python = evaluate("online:mountain-car", agent="sarsa", runs=1, episodes=5, seed=seed)
    assert _returns(julia) == _returns(python)


def test_rl_benchmark_in_julia_measures_what_it_measures_in_c(library: Mapping[str, str]) -> None:
    runs, episodes = "2", "3"
    in_c = str(built("c", "rl_benchmark", "rl_benchmark"))
    in_julia = [*JULIA, str(CLIENT / "examples/rl_benchmark.jl")]
    measured = []
    with ThreadPoolExecutor(4) as pool, a_hub() as (server, _):
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        for command in ([in_c], in_julia):
            left = peers(pool, server)
            measured.append(run(*command, runs, episodes, environment={**library, **where}))
            for each in left:
                assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
    assert float(measured[0]) == float(measured[1]) != 0


def test_what_an_environment_throws_is_its_slots_fault_with_its_line(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    """The session goes on, also after a fault in a slot that it does not play."""
    script = tmp_path / "broken.jl"
    script.write_text(
        "using Reglue\n"
        "struct Broken <: Environment end\n"
        "Reglue.env_init!(::Broken, slots) =\n"
        '    TaskSpec([TensorSpec("seen", Float64)], [TensorSpec("done", Float64)])\n'
        "function Reglue.env_start!(::Broken, begun, cells)\n"
        '    only(cells.cells).repeat == 1 && return fault!(begun, 0, "it broke")\n'
        "    begun.observations[] = [1, 2, 3]\n"
        "end\n"
        "Reglue.env_step!(::Broken, earned, actions, slots) = nothing\n"
        "Reglue.main(Broken())\n"
    )

    def starts(port: Any, repeat: int) -> str:
        """What failed when the episode of that repeat started."""
        cells = {0: Cell("task", 0, 1, repeat, Phase.TRAIN)}
        port.send(Play(np.zeros(0, np.uint32), {}, cells))
        played = port.receive(PATIENCE_S)
        assert isinstance(played, Played)
        return played.faults[0]

    with (
        nothing_left(),
        GlueServer(places={"environment": 1}) as server,
        started([*JULIA, str(script)], server.address, server.token, **library) as process,
    ):
        port: Any = server.next("environment", PATIENCE_S)
        port.send(EnvironmentInit(1))
        assert isinstance(port.receive(PATIENCE_S), EnvironmentReady)
        failed = starts(port, 0)
        assert 'got values of size (3,) for "seen", wanted (1,)' in failed
        assert "broken.jl:7" in failed
        assert "got slot 0 in fault!, wanted one of the exchange: 1" in starts(port, 1)
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0


def test_axes_are_the_glues_in_reverse(library: Mapping[str, str], tmp_path: Path) -> None:
    """Element (height, width) of a row here is (width, height, row) there."""
    script = tmp_path / "transposing.jl"
    script.write_text(
        "using Reglue\n"
        "struct Transposing <: Agent end\n"
        "Reglue.agent_start!(::Transposing, actions, observations, starts) =\n"
        "    actions[][1, 2, 1] = observations[][3, 1, 1]\n"
        "Reglue.agent_step!(::Transposing, actions, rewards, observations, steps) = nothing\n"
        'Reglue.connect(Transposing(); name = "transposing")\n'
    )
    tensor = TensorSpec("matrix", "float32", (2, 3), Box())
    seen = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    done, acted = _answers(script, library, TaskSpec((tensor,), (tensor,)), seen)
    assert isinstance(done, RoutineDone)
    assert isinstance(acted, Actions)
    assert acted.arrays["matrix"].tolist() == [[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]]


def test_the_goal_of_a_slot_is_known_when_it_starts(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "seeking.jl"
    script.write_text(
        "using Reglue\n"
        "struct Seeking <: Agent end\n"
        "Reglue.agent_start!(::Seeking, actions, observations, starts) =\n"
        '    actions[][:, 1] = get_goal(starts, 1)["desired_goal"]\n'
        "Reglue.agent_step!(::Seeking, actions, rewards, observations, steps) = nothing\n"
        "Reglue.connect(Seeking())\n"
    )
    goal = TensorSpec("desired_goal", "float32", (2,), Box())
    _, acted = _answers(script, library, TaskSpec((goal,), (goal,)), np.array([[3, 4]], np.float32))
    assert isinstance(acted, Actions)
    assert acted.arrays["desired_goal"].tolist() == [[3.0, 4.0]]


def test_a_thread_that_allocates_goes_on_while_the_agent_waits(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "busy.jl"
    collections = busy(script, "Reglue.connect(Idle())")
    with joined(script, library, "--threads=2") as (process, port):
        port.send(AgentInit(NUMBERS))
        port.receive(PATIENCE_S)  # it waits for the next call
        goes_on(collections)
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0


def test_a_thread_that_allocates_goes_on_while_a_benchmark_program_joins(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    """Whoever listens there never answers."""
    script = tmp_path / "busy.jl"
    collections = busy(script, "Experiment()")
    julia = [*JULIA, "--threads=2", str(script)]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with started(julia, address, "token", **library):
            dialled, _ = listener.accept()
            with dialled:
                goes_on(collections)


def busy(script: Path, waits: str) -> Path:
    """A program of which one thread waits, and another collects garbage and writes a byte into the
    file that is returned each time. Each collection needs every other thread's consent.
    """
    collections = script.with_name("collections")
    collections.touch()
    script.write_text(
        "using Reglue\n"
        "struct Idle <: Agent end\n"
        "Reglue.turn!(::Idle, turn::Turn) = nothing\n"
        "const is_over = Threads.Atomic{Bool}(false)\n"
        "collecting = Threads.@spawn while !is_over[]\n"
        "    GC.gc()\n"
        "    Libc.systemsleep(0.01)\n"  # the waiting thread starts meanwhile
        f'    open(file -> write(file, "."), "{collections}", "a")\n'
        "end\n"
        f"{waits}\n"
        "is_over[] = true\n"
        "wait(collecting)\n"
    )
    return collections


def goes_on(collections: Path) -> None:
    before = collections.stat().st_size
    until(lambda: collections.stat().st_size >= before + 2, "the other thread goes on")


def test_ctrl_c_while_it_waits_is_told_the_glue_and_is_exit_code_130(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    with joined(written(tmp_path / "main.jl", ""), library) as (process, port):
        assert interrupted(process, port) == (130, "reglue: interrupted\n")


def test_ctrl_c_in_connect_is_thrown_where_julia_throws_it(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    """As in the REPL."""
    script = written(tmp_path / "connect.jl", "", plays="connect")
    text = script.read_text().replace("Reglue.connect", "@assert try Reglue.connect", 1)
    script.write_text(
        f"Base.exit_on_sigint(false)\n{text}catch error; error isa InterruptException end\n"
    )
    with joined(script, library) as (process, port):
        assert interrupted(process, port) == (0, "")


def interrupted(process: subprocess.Popen[str], port: AgentPort) -> tuple[int, str]:
    """What becomes of an agent that waits when Ctrl-C comes: its exit code, and what it says."""
    port.send(AgentInit(NUMBERS))
    port.receive(PATIENCE_S)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    port.send(Freeze())
    with pytest.raises(AgentFault, match="the program has stopped the session"):
        port.receive(PATIENCE_S)
    return process.returncode, said


def test_ctrl_c_ends_a_benchmark_program_that_waits_and_the_glue_is_told(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.jl"
    script.write_text("using Reglue\nReglue.main(rl_init!)\n")
    with (
        nothing_left(),
        GlueServer(places={"experiment": 1}, reconnect_window_s=10 * PATIENCE_S) as server,
        started([*JULIA, str(script)], server.address, server.token, **library) as process,
    ):
        port = server.next("experiment", PATIENCE_S)
        assert port is not None
        assert port.next(PATIENCE_S) is not None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said) == (130, "reglue: interrupted\n")
        until(lambda: port.is_gone, "the glue knows that it has left")


def test_ctrl_c_ends_a_benchmark_program_that_waits_for_a_glue(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.jl"
    script.write_text("using Reglue\nReglue.main(rl_init!)\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with started([*JULIA, str(script)], address, "token", **library) as process:
            listener.accept()[0].close()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said.splitlines()[-1]) == (130, "reglue: interrupted")


def test_a_refused_routine_that_a_benchmark_program_does_not_catch_is_exit_code_1(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "program.jl"
    script.write_text("using Reglue\nReglue.main() do rl\n    rl_return(rl, 0)\nend\n")
    with (
        nothing_left(),
        GlueServer(places={"experiment": 1}) as server,
        started([*JULIA, str(script)], server.address, server.token, **library) as process,
    ):
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert said.startswith("reglue: RoutineRefused: got slot 0, wanted an integer from 1")
    assert "program.jl:3" in said


def test_the_stack_trace_is_printed_before_the_glue_hears_of_it(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    """Who starts agents may kill one that failed."""
    script = written(tmp_path / "clumsy.jl", "actions[][1] = 1.5")
    with joined(script, library) as (process, port):
        with pytest.raises(AgentFault, match="InexactError"):
            play(port)
        process.kill()
        assert process.stderr is not None
        said = process.stderr.read()
    assert "InexactError" in said
    assert "clumsy.jl:3" in said


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("actions[][1] = 1.5", "InexactError: Int64(1.5)"),
        ('actions["act"] .= 1', 'got ["act"], wanted ["done"]'),
        ("(actions = [1]; nothing)", 'got no actions from agent_start!, wanted ["done"]'),
    ],
)
def test_what_an_agent_does_wrong_is_said_once_with_its_line_and_is_exit_code_1(
    library: Mapping[str, str], tmp_path: Path, start: str, told: str
) -> None:
    script = written(tmp_path / "wrong.jl", start)
    with joined(script, library) as (process, port):
        with pytest.raises(AgentFault) as fault:
            play(port)
        port.close("farewell")
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    for words in (said, str(fault.value)):
        assert words.count(told) == 1
        assert "wrong.jl:3" in words or "agent_start!" in told
    assert said.startswith("reglue: the agent failed: ")


def test_what_an_agent_throws_is_thrown_on_by_connect(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = written(tmp_path / "caught.jl", 'error("told to fail")', plays="connect")
    text = script.read_text().replace("Reglue.connect", "@assert try Reglue.connect", 1)
    script.write_text(f"{text}catch error; error isa ErrorException end\n")
    with joined(script, library) as (process, port):
        with pytest.raises(AgentFault, match="told to fail"):
            play(port)
        port.close("farewell")
        assert process.wait(PATIENCE_S) == 0


def _returns(result: Result) -> list[object]:
    assert result.online is not None
    assert result.complete
    return [(each.status, each.performance, each.steps) for each in result.online.runs]


def _answers(
    script: Path, library: Mapping[str, str], spec: TaskSpec, seen: object
) -> list[object]:
    """What the agent answers to the task and to a start."""
    with joined(script, library) as (process, port):
        answers = play(port, spec, seen)
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0
    return answers


def play(port: AgentPort, spec: TaskSpec | None = None, seen: object = (0.5,)) -> list[object]:
    """What the agent answers to the task and to a start in slot 0. Raise AgentFault if it fails."""
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
    script: Path, library: Mapping[str, str], *flags: str
) -> Iterator[tuple[subprocess.Popen[str], AgentPort]]:
    """The script's process, and the glue's end of its session."""
    with (
        nothing_left(),
        GlueServer(places={"agent": 1}) as server,
        started([*JULIA, *flags, str(script)], server.address, server.token, **library) as process,
    ):
        port = server.next("agent", PATIENCE_S)
        assert port is not None
        yield process, port

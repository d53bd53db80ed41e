"""The Julia client: its own tests, and its programs at a glue."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Box, Cell, Phase, TaskSpec, TensorSpec
from reglue.messages.agent_messages import (
    Actions,
    AgentInit,
    RoutineDone,
)
from reglue.messages.environment_messages import EnvironmentInit, EnvironmentReady, Play, Played
from reglue_bench import evaluate
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from tests.agent_clients.client_programs import (
    JULIA,
    ROOT,
    built,
    online,
    peers,
    run,
    started,
)
from tests.agent_clients.julia import NUMBERS, PATIENCE_S, joined, play
from tests.glue_server.hubs import a_hub
from tests.leftovers import nothing_left
from tests.waiting import until

CLIENT = ROOT / "agent_clients/julia"

pytestmark = pytest.mark.timeout(900)  # the first test compiles the C library


def test_its_own_tests_pass(libreglue: Mapping[str, str]) -> None:
    run(*JULIA, str(CLIENT / "test/runtests.jl"), environment=libreglue)


def test_sarsa_in_julia_learns_to_the_bit_as_in_python(
    libreglue: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in libreglue.items():
        monkeypatch.setenv(name, value)
    command = shlex.join([*JULIA, str(CLIENT / "examples/sarsa.jl")])
    car, seed = "online:mountain-car", 3
    julia = evaluate(car, agent="", agent_cmd=command, runs=2, episodes=5, seed=seed)
    python = evaluate(car, agent="sarsa", runs=2, episodes=5, seed=seed)
    assert _returns(julia) == _returns(python)


def test_a_network_in_julia_learns_cart_pole(
    libreglue: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in libreglue.items():
        monkeypatch.setenv(name, value)
    command = shlex.join([*JULIA, str(CLIENT / "examples/reinforce.jl")])
    pole = "online:gymnasium:CartPole-v1"
    result = evaluate(pole, agent="", agent_cmd=command, runs=1, episodes=150, seed=1)
    assert result.complete
    returns = result.score_as(PerformanceScore).runs[0].line
    assert np.mean(returns[-30:]) > 100 > 3 * np.mean(returns[:30])


def test_mountain_car_in_julia_is_the_built_in_one_to_the_bit(
    libreglue: Mapping[str, str],
) -> None:
    """Sarsa in Python learns the same in it."""
    script, seed = CLIENT / "examples/mountain_car.jl", 3

    def start(where: str) -> AbstractContextManager[object]:
        return started([*JULIA, str(script)], where, "", **libreglue)

    julia = online(start, agent="sarsa", episodes=5, seed=seed)
    python = evaluate("online:mountain-car", agent="sarsa", runs=1, episodes=5, seed=seed)
    assert _returns(julia) == _returns(python)


def test_rl_benchmark_in_julia_measures_what_it_measures_in_c(libreglue: Mapping[str, str]) -> None:
    runs, episodes = "2", "3"
    in_c = str(built("c", "rl_benchmark", "rl_benchmark"))
    in_julia = [*JULIA, str(CLIENT / "examples/rl_benchmark.jl")]
    measured = []
    with ThreadPoolExecutor(4) as pool, a_hub() as (server, _):
        where = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.tokens["experiment"]}
        for command in ([in_c], in_julia):
            left = peers(pool, server)
            measured.append(run(*command, runs, episodes, environment={**libreglue, **where}))
            for each in left:
                assert each.result(PATIENCE_S) == "the run is over: the experiment has left"
    assert float(measured[0]) == float(measured[1]) != 0


def test_what_an_environment_throws_is_its_slots_fault_and_its_trace_stays_at_home(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    """The session goes on, also after a fault in a slot that it does not play."""
    script = tmp_path / "broken.jl"
    script.write_text(
        "using Reglue\n"
        "struct Broken <: Environment end\n"
        "Reglue.env_init!(::Broken, slots) =\n"
        '    TaskSpec([TensorSpec("seen", Float64)], [TensorSpec("done", Float64)]; extra = "x")\n'
        "function Reglue.env_start!(::Broken, begun, cells)\n"
        '    only(cells.cells).repeat == 1 && return fault!(begun, 0, "it broke")\n'
        "    begun.observations[] = [1, 2, 3]\n"
        "end\n"
        "Reglue.env_step!(::Broken, earned, actions, slots) = nothing\n"
        "Reglue.main(Broken())\n"
    )

    def starts(port: Any, repeat: int) -> str:
        """The failure at the start of that repeat's episode."""
        cells = {0: Cell("task", 0, 1, repeat, Phase.TRAIN)}
        port.send(Play(np.zeros(0, np.uint32), {}, cells))
        played = port.receive(PATIENCE_S)
        assert isinstance(played, Played)
        return played.faults[0]

    with (
        nothing_left(),
        GlueServer(places={"environment": 1}) as server,
        started([*JULIA, str(script)], server.address, server.token, **libreglue) as process,
    ):
        port: Any = server.next("environment", PATIENCE_S)
        port.send(EnvironmentInit(1))
        ready = port.receive(PATIENCE_S)
        assert isinstance(ready, EnvironmentReady)
        assert ready.spec.extra == "x"
        failed = starts(port, 0)
        assert 'got values of size (3,) for "seen", wanted (1,)' in failed
        assert (failed.count("\n"), str(tmp_path) in failed) == (0, False)
        assert "got slot 0 in fault!, wanted one of the exchange: 1" in starts(port, 1)
        port.close("that was all")
        _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, "broken.jl:7" in said) == (0, True)


def test_axes_are_the_glues_in_reverse(libreglue: Mapping[str, str], tmp_path: Path) -> None:
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
    done, acted = _answers(script, libreglue, TaskSpec((tensor,), (tensor,)), seen)
    assert isinstance(done, RoutineDone)
    assert isinstance(acted, Actions)
    assert acted.arrays["matrix"].tolist() == [[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]]


def test_the_goal_of_a_slot_is_known_when_it_starts(
    libreglue: Mapping[str, str], tmp_path: Path
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
    _, acted = _answers(
        script, libreglue, TaskSpec((goal,), (goal,)), np.array([[3, 4]], np.float32)
    )
    assert isinstance(acted, Actions)
    assert acted.arrays["desired_goal"].tolist() == [[3.0, 4.0]]


def test_a_thread_that_allocates_goes_on_while_the_agent_waits(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "busy.jl"
    collections = busy(script, "Reglue.connect(Idle())")
    with joined(script, libreglue, "--threads=2") as (process, port):
        port.send(AgentInit(NUMBERS))
        port.receive(PATIENCE_S)  # it waits for the next call
        goes_on(collections)
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0


def test_a_thread_that_allocates_goes_on_while_a_benchmark_program_joins(
    libreglue: Mapping[str, str], tmp_path: Path
) -> None:
    """Whoever listens there never answers."""
    script = tmp_path / "busy.jl"
    collections = busy(script, "Experiment()")
    julia = [*JULIA, "--threads=2", str(script)]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with started(julia, address, "token", **libreglue):
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


def _returns(result: Result) -> list[object]:
    assert result.complete
    return [
        (each.status, each.performance, each.steps)
        for each in result.score_as(PerformanceScore).runs
    ]


def _answers(
    script: Path, libreglue: Mapping[str, str], spec: TaskSpec, seen: object
) -> list[object]:
    """The agent's answers to the task and to a start."""
    with joined(script, libreglue) as (process, port):
        answers = play(port, spec, seen)
        port.close("that was all")
        assert process.wait(PATIENCE_S) == 0
    return answers

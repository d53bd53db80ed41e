"""The Julia client: its own tests, agents at a glue, and what becomes of those that fail."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Box, Phase, TaskSpec, TensorSpec
from reglue.errors import AgentFault
from reglue.messages.agent import NO_ENDS, NO_STEPS, Actions, AgentInit, RoutineDone, Starts, Turn
from reglue_bench import evaluate
from reglue_bench.results.result import Result
from tests.agent_clients.programs import ROOT, built, keeps_the_rules, run
from tests.leftovers import nothing_left

PATIENCE_S = 60.0
CLIENT = ROOT / "agent_clients/julia"
JULIA = ("julia", "--startup-file=no", "-O1", f"--project={CLIENT}")

pytestmark = pytest.mark.timeout(900)  # the first test compiles the C library


@pytest.fixture(scope="module")
def library() -> Mapping[str, str]:
    """The environment in which Julia finds it."""
    return {"REGLUE_LIBRARY": str(built("c", "reglue_c", "libreglue.so"))}


def test_its_own_tests_pass(library: Mapping[str, str]) -> None:
    run(*JULIA, str(CLIENT / "test/runtests.jl"), environment=library)


def test_it_keeps_the_rules(library: Mapping[str, str]) -> None:
    """The C library carries its messages: test_c.py shows it over a Unix socket too."""
    program = shlex.join([*JULIA, str(CLIENT / "conformance/agent.jl")])
    keeps_the_rules("agent", program, "grpc", library)


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


def test_what_an_agent_throws_is_its_fault_and_the_process_fails(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "clumsy.jl"
    script.write_text(
        "using Reglue\n"
        "struct Clumsy <: Agent end\n"
        "Reglue.agent_start!(::Clumsy, actions, observations, starts) = actions[][1] = 1.5\n"
        "Reglue.agent_step!(::Clumsy, actions, rewards, observations, steps) = nothing\n"
        "Reglue.connect(Clumsy())\n"
    )
    spec = TaskSpec((TensorSpec("seen", "float32"),), (TensorSpec("done", "int64"),))
    _, fault = _answers(script, library, spec, np.zeros(1, np.float32), leaves=1)
    assert isinstance(fault, AgentFault)
    assert "InexactError" in str(fault)
    assert "clumsy.jl:3" in str(fault)


def test_a_wrong_token_is_said_and_the_process_fails(
    library: Mapping[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "stranger.jl"
    script.write_text(
        "using Reglue\n"
        "struct Stranger <: Agent end\n"
        "Reglue.turn!(::Stranger, turn::Turn) = nothing\n"
        "Reglue.connect(Stranger())\n"
    )
    with nothing_left(), GlueServer(places={"agent": 1}) as hall:
        where = {"REGLUE_ADDRESS": hall.address, "REGLUE_TOKEN": "guess"}
        with pytest.raises(AssertionError, match="token"):
            run(*JULIA, str(script), environment={**library, **where})


def _returns(result: Result) -> list[object]:
    assert result.online is not None
    assert result.complete
    return [(each.status, each.performance, each.steps) for each in result.online.runs]


def _answers(
    script: Path, library: Mapping[str, str], spec: TaskSpec, seen: object, *, leaves: int = 0
) -> list[object]:
    """What the agent answers to the task and to a start; its exit code is `leaves`."""
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    observations = {spec.observations[0].name: np.asarray(seen)}
    turn = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), observations)
    answers: list[object] = []
    with nothing_left(), GlueServer(places={"agent": 1}) as hall:
        where = {"REGLUE_ADDRESS": hall.address, "REGLUE_TOKEN": hall.token}
        environment = {**os.environ, **library, **where}
        with subprocess.Popen([*JULIA, str(script)], env=environment) as process:
            try:
                port = hall.next("agent", PATIENCE_S)
                assert port is not None
                try:
                    for call in (AgentInit(spec), turn):
                        port.send(call)
                        answers.append(port.receive(PATIENCE_S))
                except AgentFault as fault:
                    answers.append(fault)
                port.close("that was all")
                assert process.wait(PATIENCE_S) == leaves
            finally:
                process.kill()
    return answers

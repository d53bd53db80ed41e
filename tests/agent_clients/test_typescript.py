"""The TypeScript client, as built: the conformance kit, the agents, how programs leave."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Phase, TaskSpec, TensorSpec
from reglue.errors import AgentFault
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STEPS,
    AgentInit,
    RoutineDone,
    Starts,
    TextMessage,
    Turn,
)
from reglue.net.join_string import Transport
from tests.agent_clients.client_programs import started, typescript
from tests.leftovers import nothing_left

PATIENCE_S = 60.0

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"

PROGRAM = "conformance/programs/agent.js"


def reglue(*arguments: str, **environment: str) -> str:
    """The command's output. Fails if it does."""
    done = subprocess.run(
        [sys.executable, "-m", "reglue", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def learned(folder: Path, *agent: str) -> list[float]:
    """The returns of the episodes of an online run."""
    arguments = ["--runs", "1", "--episodes", "4", "--seed", "7", "--slots", "1", "--out"]
    reglue("bench", "online:mountain-car", *agent, *arguments, str(folder))
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (run,) = result["score"]["runs"]
    assert (run["status"], len(run["line"])) == ("ok", 4)
    returns: list[float] = run["line"]
    return returns


def program(*, leaves_with: int, **environment: str) -> str:
    """The words of the conformance program, which fails without the kit."""
    done = subprocess.run(
        ["node", str(typescript(PROGRAM))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], **environment},
    )
    assert done.returncode == leaves_with, done.stderr
    return done.stderr


def test_nothing_in_the_environment_makes_it_trust_a_stranger() -> None:
    """Node itself would trust anybody then."""
    kit = ("conformance", "agent", "--cmd", f"node {typescript(PROGRAM)}", "--only", "tls.*")
    told = reglue(*kit, NODE_TLS_REJECT_UNAUTHORIZED="0")
    assert "5 of 5 checks passed" in told


def test_its_sarsa_learns_mountain_car_as_pythons_does_to_the_step(tmp_path: Path) -> None:
    """The same chance from start seeds, and the same arithmetic."""
    here = learned(tmp_path / "ts", "--agent-cmd", f"node {typescript('examples/sarsa.js')}")
    there = learned(tmp_path / "python", "--agent", "sarsa")
    assert here == there
    assert here[-1] > here[0] + 500


def test_its_small_agent_drives_up_the_mountain(tmp_path: Path) -> None:
    returns = learned(tmp_path, "--agent-cmd", f"node {typescript('examples/momentum.js')}")
    assert all(-200 < each < -80 for each in returns)


def test_without_an_address_it_says_what_to_do() -> None:
    words = program(leaves_with=2)
    assert "give host:port or a join string, or set REGLUE_ADDRESS" in words


def test_a_join_string_that_was_cut_is_refused() -> None:
    words = program(leaves_with=2, REGLUE_ADDRESS="reglue://127.0.0.1:4096?ca=MIIBMj")
    assert "the join string's ca is no certificate" in words


def test_a_program_that_computed_too_long_hears_the_farewell(tmp_path: Path) -> None:
    """Its socket is closed before it comes to look at it: the answer cannot be sent any more."""
    script = tmp_path / "busy.mjs"
    script.write_text(
        'import { readSync } from "node:fs";\n'
        f'import {{ Agent, main }} from "{typescript("src/index.js")}";\n'
        "class Busy extends Agent {\n"
        "  turn() {}\n"
        "  agentMessage() {\n"
        '    console.error("computing");\n'
        "    readSync(0, Buffer.alloc(1)); // until the glue has left\n"
        "    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);\n"
        '    return "at last";\n'
        "  }\n"
        "}\n"
        "await main(new Busy());\n"
    )
    with nothing_left(), ExitStack() as stack:
        hall = stack.enter_context(GlueServer(transport="unix"))
        process = stack.enter_context(started(("node", str(script)), hall.address, hall.token))
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        port.send(TextMessage("take your time"))
        assert process.stderr is not None
        assert process.stderr.readline() == "computing\n"
        port.close("that was all")
        hall.close()
        _, words = process.communicate("x", PATIENCE_S)
    assert (process.returncode, words) == (0, "reglue: that was all\n")


def test_an_interrupted_program_leaves() -> None:
    """Also while it waits for a glue; with the code that shells give to Ctrl-C."""
    environment = os.environ | {"REGLUE_ADDRESS": "127.0.0.1:1"}
    with subprocess.Popen(
        ["node", str(typescript(PROGRAM))], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stderr is not None
            assert "waiting for a glue" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()


AGENT = """
import {{ Agent, main }} from "{library}";
class Plain extends Agent {{
  agentStart(observations, {{ slots }}) {{ {start} }}
  agentStep(rewards, observations, {{ slots }}) {{ return Array(slots.length).fill(0); }}
}}
await main(new Plain(), {{ transport: "{transport}" }});
"""

ACTS = "return Array(slots.length).fill(0);"

SEES, DOES = (TensorSpec("seen", "float64"),), (TensorSpec("done", "float32"),)


def plain(folder: Path, *, start: str = ACTS, transport: Transport = "grpc") -> str:
    """An agent whose agentStart has that body."""
    script = folder / "plain.mjs"
    library = typescript("src/index.js")
    script.write_text(AGENT.format(library=library, start=start, transport=transport))
    return str(script)


def start_of_one() -> Turn:
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    return Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), {"seen": np.zeros(1)})


def test_a_wrong_call_is_the_agents_fault(tmp_path: Path) -> None:
    """The library's own error is told once, and leaves with 1."""
    with nothing_left(), GlueServer(transport="grpc") as hall:
        command = ("node", plain(tmp_path, start="this.getGoal(0);"))
        with started(command, hall.address, hall.token) as process:
            port = hall.next("agent", PATIENCE_S)
            assert port is not None
            port.send(AgentInit(TaskSpec(SEES, DOES)))
            assert port.receive(PATIENCE_S) == RoutineDone()
            port.send(start_of_one())
            with pytest.raises(AgentFault):
                port.receive(PATIENCE_S)
            port.close("you have failed")
            _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, words
    told = "the agent failed: UsageError: got a task that shows seen, wanted a tensor .*"
    assert re.fullmatch(rf"{TIME} reglue error: {told}", words, re.DOTALL), words
    assert "\nreglue: " not in words


@pytest.mark.parametrize("transport", ["unix", "grpc"])
def test_a_routine_that_never_resolves_is_told_once_the_session_is_over(
    transport: Transport, tmp_path: Path
) -> None:
    """Node leaves then, with a code of its own and without a word."""
    command = ("node", plain(tmp_path, start="return new Promise(() => {});", transport=transport))
    with (
        nothing_left(),
        GlueServer(transport=transport) as hall,
        started(command, hall.address, hall.token) as process,
    ):
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        port.send(AgentInit(TaskSpec(SEES, DOES)))
        assert port.receive(PATIENCE_S) == RoutineDone()
        port.send(start_of_one())
        port.close("that was all")
        _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, words
    told = "the session is over, and the agent's turn awaits a promise that never settles"
    assert words == f"reglue: {told}\n"


def test_a_trace_has_a_line_for_each_call(tmp_path: Path) -> None:
    with nothing_left(), ExitStack() as stack:
        hall = stack.enter_context(GlueServer(transport="grpc"))
        program = started(("node", plain(tmp_path)), hall.address, hall.token, REGLUE_TRACE="1")
        process = stack.enter_context(program)
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        for call in (AgentInit(TaskSpec(SEES, DOES)), start_of_one(), TextMessage("hello")):
            port.send(call)
            port.receive(PATIENCE_S)
        port.close("that was all")
        _, words = process.communicate(timeout=PATIENCE_S)
    *calls, farewell, last = words.splitlines()
    assert last == "reglue: that was all"
    assert re.fullmatch(rf"{TIME} reglue call farewell \d+ bytes, not answered", farewell)
    names = [
        re.fullmatch(
            rf"{TIME} reglue call (\w+) \d+ bytes, answered by \d+ bytes in \d+\.\d\d ms", line
        )
        for line in calls
    ]
    assert [name and name[1] for name in names] == ["init", "turn", "message"]

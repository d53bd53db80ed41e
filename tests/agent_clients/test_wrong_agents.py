"""Wrong uses in each language: one clear message, and the exit code that the docs promise."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from glue_server import LocalEnvironmentPort, StateMachine
from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Phase, TaskSpec, TensorSpec
from reglue.errors import AgentFault, NotSupported
from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STEPS,
    Adapt,
    AdaptBegin,
    AgentInit,
    Freeze,
    RoutineDone,
    Starts,
    Turn,
)
from reglue.messages.experiment_messages import RLInit
from tests.agent_clients.client_programs import JULIA, built, started, typescript
from tests.glue_server.routines.lab import PATIENT, Lab
from tests.glue_server.rpc.proxies import proxy_to
from tests.leftovers import nothing_left

PATIENCE_S = 60.0
SPEC = TaskSpec((TensorSpec("seen", "float64"),), (TensorSpec("done", "float32", (2,)),))

PYTHON_AGENT = """
import os
import numpy as np
import reglue

class Wrong(reglue.Agent):
    def agent_start(self, observations, starts):
        if os.environ.get("WRONG_USE") == "throws":
            raise RuntimeError(f"out of {'ideas'}")
        return np.zeros((1, 3 if os.environ.get("WRONG_USE") == "size" else 2))
    def agent_step(self, rewards, observations, steps):
        return np.zeros((1, 2))
"""

JULIA_AGENT = """
using Reglue
struct Wrong <: Agent end
function Reglue.agent_start!(::Wrong, actions, observations, starts)
    how = get(ENV, "WRONG_USE", "")
    how == "throws" && error("out of ideas")
    how == "size" && (actions[] = [1, 2, 3])
end
Reglue.agent_step!(::Wrong, actions, rewards, observations, steps) = nothing
Reglue.main(Wrong(); connect_timeout_s = 1)
"""

TYPESCRIPT_AGENT = """
import { Agent, main } from "%s";
class Wrong extends Agent {
  agentStart() {
    if (process.env.WRONG_USE === "throws") throw new Error("out of ideas");
    return process.env.WRONG_USE === "size" ? [1, 2, 3] : [0, 0];
  }
  agentStep() { return [0, 0]; }
}
await main(new Wrong(), { connectTimeoutS: 1 });
"""


@dataclass(frozen=True)
class Client:
    """Its agent goes wrong in its first turn as WRONG_USE says; it waits a second for a glue."""

    command: tuple[str, ...]
    wrong_size: str  # the error for it
    trace: str = ""  # the line of code in the trace if it throws
    environment: Mapping[str, str] | None = None


def client(language: str, folder: Path) -> Client:
    """The client of that language: built, or written into `folder`."""
    script = folder / "wrong"
    match language:
        case "python":
            (folder / "wrong.py").write_text(PYTHON_AGENT)
            join = (sys.executable, "-m", "reglue", "join", f"{folder}/wrong.py:Wrong")
            return Client(
                (*join, "--connect-timeout", "1"),
                "got shape (1, 3), wanted (1, 2)",
                'wrong.py", line 9',
            )
        case "c":
            program = built("c", "wrong_use", "tests/wrong_use")
            return Client((str(program),), "got slot 7 to abandon, wanted one that steps or starts")
        case "cpp":
            program = built("cpp", "wrong_use", "tests/wrong_use")
            return Client((str(program),), "got 12 bytes of 'done', wanted 8 bytes")
        case "julia":
            script.write_text(JULIA_AGENT)
            library = {"REGLUE_LIBRARY": str(built("c", "reglue_c", "libreglue.so"))}
            wrong_size = 'got values of size (3,) for "done", wanted (2, 1)'
            return Client((*JULIA, str(script)), wrong_size, "wrong:6", library)
        case _:
            script = folder / "wrong.mjs"
            script.write_text(TYPESCRIPT_AGENT % typescript("src/index.js"))
            wrong_size = "got 3 numbers, wanted 2"
            return Client(("node", str(script)), wrong_size, "at Wrong.agentStart")


@pytest.fixture(params=["python", "c", "cpp", "julia", "typescript"])
def wrong(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    return client(request.param, tmp_path)


pytestmark = pytest.mark.timeout(900)  # the first test compiles clients


def left(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and what it printed, once it has left."""
    _, words = process.communicate(timeout=PATIENCE_S)
    return process.returncode, words


@contextmanager
def joined(
    wrong: Client, hall: GlueServer, address: str, how: str
) -> Iterator[tuple[subprocess.Popen[str], AgentPort]]:
    """Its process, and the glue's end of its session, after its task."""
    more = {**(wrong.environment or {}), "WRONG_USE": how}
    with started(wrong.command, address, hall.token, **more) as process:
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        port.send(AgentInit(SPEC))
        assert isinstance(port.receive(PATIENCE_S), RoutineDone)
        yield process, port


@pytest.mark.parametrize(
    ("address", "token", "code", "pattern"),
    [
        ("{glue}", "not the token", 2, "token"),
        ("", "T", 2, "REGLUE_ADDRESS"),
        ("nowhere", "T", 2, "got address '?nowhere'?, wanted"),
        ("127.0.0.1:1", "T", 1, "no glue answered at 127.0.0.1:1 within 1(.0)? s; is it running"),
    ],
    ids=["wrong token", "no address", "malformed address", "nobody there"],
)
def test_a_program_that_cannot_join_says_why_in_a_line(
    wrong: Client, address: str, token: str, code: int, pattern: str
) -> None:
    with nothing_left(), GlueServer(places={"agent": 1}) as hall:
        where = address.format(glue=hall.address)
        with started(wrong.command, where, token, **(wrong.environment or {})) as process:
            exit_code, words = left(process)
    assert (exit_code, words.count("\n")) == (code, 1), words
    assert re.search(pattern, words), words


@pytest.mark.parametrize("how", ["throws", "size"])
def test_an_agent_that_throws_or_answers_in_a_wrong_size_prints_it_once(
    wrong: Client, how: str
) -> None:
    error = "out of ideas" if how == "throws" else wrong.wrong_size
    starts = Starts(np.array([0], np.uint32), np.array([1], np.uint64))
    turn = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, starts, np.zeros(0), {"seen": np.array([0.5])})
    with (
        nothing_left(),
        GlueServer(places={"agent": 1}) as hall,
        joined(wrong, hall, hall.address, how) as (process, port),
    ):
        port.send(turn)
        with pytest.raises(AgentFault) as fault:
            port.receive(PATIENCE_S)
        port.close("the agent failed")
        code, words = left(process)
    assert error in str(fault.value)
    assert (code, words.count(error)) == (1, 1), words
    assert "\n" not in str(fault.value)
    if how == "throws":
        assert wrong.trace in words


def test_an_agent_without_adapt_is_named_and_its_session_goes_on(wrong: Client) -> None:
    more = wrong.environment or {}
    with (
        nothing_left(),
        GlueServer(places={"agent": 1}) as hall,
        started(wrong.command, hall.address, hall.token, **more) as process,
    ):
        port = hall.next("agent", PATIENCE_S)
        assert port is not None
        machine = StateMachine(LocalEnvironmentPort(Lab(SPEC), "lab"), port, timeouts=PATIENT)
        machine.run(RLInit(1, 0))
        for call in (AdaptBegin(), Adapt()):
            with pytest.raises(NotSupported) as refused:
                machine.run(call)
            assert repr(port.hello.agent) in refused.value.got
        assert machine.run(Freeze()) == RoutineDone()
        port.close("that was all")
        assert left(process)[0] == 0


@pytest.mark.parametrize("window_s", [0.0, 1.0], ids=["at once", "after tries"])
def test_a_lost_glue_is_a_line_and_the_tries_are_another(wrong: Client, window_s: float) -> None:
    """It is tried again for as long as the glue would wait for it."""
    with (
        nothing_left(),
        GlueServer(places={"agent": 1}, transport="grpc", reconnect_window_s=window_s) as hall,
        proxy_to(hall) as road,
        joined(wrong, hall, road.address, "") as (process, _),
    ):
        road.close()
        code, words = left(process)
    *tries, gone = words.splitlines()
    assert (code, len(tries)) == (1, int(window_s > 0)), words
    assert "the glue went away" in gone
    lost = r".* reglue warning: lost the connection, reconnecting for up to 1\.0 s: the glue went"
    assert all(re.match(lost, line) for line in tries)

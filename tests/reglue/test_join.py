"""`reglue join` as people and benchmarks run it: a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from glue_server import SlotGlue
from glue_server.port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Phase
from reglue.errors import AgentFault
from tests.glue_server.playing import PATIENT, cell, corridor_pool, in_turn
from tests.leftovers import nothing_left

PATIENCE_S = 30.0

AGENTS = """
import numpy as np
import reglue

class Still(reglue.Agent):
    def __init__(self, *, word="quiet"):
        self.word = word
    def agent_message(self, message):
        return self.word
    def agent_start(self, observations, starts):
        return np.zeros((len(starts), 1))
    def agent_step(self, rewards, observations, steps):
        return np.zeros((len(steps), 1))

class Falling(Still):
    def agent_step(self, rewards, observations, steps):
        return 1 / 0

class Stillborn(Still):
    def __init__(self):
        raise OSError("no weights")

class Half(reglue.Agent):
    def agent_start(self, observations, starts):
        return []
"""

Join = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    with nothing_left():
        yield


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        yield server


@pytest.fixture
def join(server: GlueServer, tmp_path: Path) -> Iterator[Join]:
    """Runs `reglue join` with the server's address and token in its environment."""
    (tmp_path / "agents.py").write_text(AGENTS)
    processes: list[subprocess.Popen[str]] = []

    def join(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        named = {"REGLUE_ADDRESS": server.address, "REGLUE_TOKEN": server.token}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "reglue", "join", *arguments],
                cwd=tmp_path,
                env=os.environ | named | environment,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield join
    for process in processes:
        process.kill()
        process.communicate()


def left(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code, and what it wrote."""
    _, words = process.communicate(timeout=PATIENCE_S)
    return process.returncode, words


def seated(server: GlueServer) -> AgentPort:
    port = server.agent(PATIENCE_S)
    assert port is not None
    return port


def play(server: GlueServer) -> AgentPort:
    """One episode."""
    port = seated(server)
    glue = SlotGlue(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    list(glue.play(in_turn([cell()]), Phase.EVALUATE))
    return port


# 0: a farewell.


def test_a_farewell_is_exit_code_0_and_its_words_are_shown(server: GlueServer, join: Join) -> None:
    process = join("agents.py:Still")
    play(server).close("the run is over, thank you")
    assert left(process) == (0, "reglue join: the run is over, thank you\n")


def test_address_and_token_can_be_options(server: GlueServer, join: Join) -> None:
    process = join(
        "agents.py:Still",
        *("--address", server.address, "--token", server.token),
        REGLUE_ADDRESS="127.0.0.1:1",
        REGLUE_TOKEN="other",
    )
    seated(server).close("done")
    assert left(process)[0] == 0


def test_the_agent_gets_its_arguments_and_its_name(server: GlueServer, join: Join) -> None:
    join("agents.py:Still", "--agent-arg", "word=a=b", "--name", "Sir Still")
    port = seated(server)
    glue = SlotGlue(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    assert (port.hello.agent, glue.message("?")) == ("Sir Still", "a=b")


# 1: the agent failed, or the glue is not there.


def test_an_agent_that_raises_is_exit_code_1_with_its_traceback(
    server: GlueServer, join: Join
) -> None:
    process = join("agents.py:Falling")
    port = seated(server)
    glue = SlotGlue(port, corridor_pool(), timeouts=PATIENT)
    glue.init()
    with pytest.raises(AgentFault, match="ZeroDivisionError"):
        list(glue.play(in_turn([cell(variant=2)]), Phase.EVALUATE))
    port.close("goodbye")
    code, words = left(process)
    assert code == 1
    assert "return 1 / 0" in words


def test_an_agent_that_cannot_be_made_is_exit_code_1_with_its_traceback(join: Join) -> None:
    code, words = left(join("agents.py:Stillborn"))
    assert code == 1
    assert "OSError: no weights" in words


def test_a_glue_that_never_comes_is_exit_code_1(join: Join) -> None:
    code, words = left(join("agents.py:Still", "--address", "127.0.0.1:1", "--patience", "0.1"))
    assert code == 1
    assert words.startswith("reglue join: no glue answered at 127.0.0.1:1 within 0.1 s")


def test_a_glue_that_goes_away_is_exit_code_1(server: GlueServer, join: Join) -> None:
    process = join("agents.py:Still")
    port: Any = seated(server)
    port._line.end()
    assert left(process) == (
        1,
        "reglue join: the glue closed the session without a farewell\n",
    )


# 2: wrong usage.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agents.py:Stil"], "did you mean Still"),
        (["agents.py:Half"], "Half lacks agent_step()"),
        (["nowhere.py:Still"], "there is no file nowhere.py"),
        (["expret"], "did you mean expert?"),
        (["agents.py:Still", "--agent-arg", "word"], "got --agent-arg 'word', wanted key=value"),
        (["agents.py:Still", "--agent-arg", "wrod=1"], "unexpected keyword argument 'wrod'"),
        (["agents.py:Still", "--token", "guess"], "wrong token"),
        (["agents.py:Still", "--patience", "long"], "invalid float value"),
        ([], "the following arguments are required: agent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_usage_is_exit_code_2_with_the_reason(
    join: Join, arguments: list[str], words: str
) -> None:
    code, said = left(join(*arguments))
    assert code == 2
    assert words in said.splitlines()[-1]


def test_no_address_is_exit_code_2(join: Join) -> None:
    code, words = left(join("agents.py:Still", REGLUE_ADDRESS=""))
    assert code == 2
    assert words == "reglue join: no address: give host:port or a join string, or set REGLUE_ADDRESS\n"


def test_a_busy_run_is_exit_code_2_with_the_reason(server: GlueServer, join: Join) -> None:
    join("agents.py:Still")
    seated(server)
    code, words = left(join("agents.py:Still"))
    assert code == 2
    assert "this run has its agent already" in words


def test_ctrl_c_is_exit_code_130(server: GlueServer, join: Join) -> None:
    process = join("agents.py:Still")
    seated(server)
    process.send_signal(signal.SIGINT)
    assert left(process) == (130, "")

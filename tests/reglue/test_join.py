"""`reglue join` as people and benchmarks run it: a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server import SlotGlue
from glue_server.port import AgentPort
from glue_server.rpc import GlueServer
from glue_server.rpc.authority import private_authority
from reglue import Cell, Phase
from reglue.certificates import to_pem
from reglue.environment_calls import EnvironmentInit, Play, Played, Ready
from reglue.errors import AgentFault
from tests.glue_server.playing import PATIENT, cell, corridor_pool, in_turn
from tests.glue_server.rpc.papers import paper, shown, written
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

ENVIRONMENTS = """
import numpy as np
import reglue

SPEC = reglue.TaskSpec(
    (reglue.TensorSpec("seen", "float64"),), (reglue.TensorSpec("action", "int64"),)
)

class Count(reglue.Environment):
    def __init__(self, *, by=1):
        self.by = by
    def env_init(self, slots):
        self.at = np.zeros(slots)
        return SPEC
    def env_start(self, cells):
        self.at[list(cells)] = 0
        return {"seen": self.at[list(cells)]}
    def env_step(self, actions, slots):
        self.at[slots] += self.by * actions["action"]
        return reglue.Earned(self.at[slots], {"seen": self.at[slots]})

class Counts:
    spec, variants, standardizes = SPEC, {"count": 1}, True
    def world(self):
        return One()

class One:
    def start(self, cell):
        self.at = 0
        return {"seen": self.at}
    def step(self, action):
        self.at += action["action"]
        return reglue.Step(self.at, {"seen": self.at}, False, False, False)
    def close(self):
        pass

class Unstepped(reglue.Environment):
    def env_init(self, slots):
        return SPEC
    def env_start(self, cells):
        return {"seen": np.zeros(len(cells))}

class Uncounted:
    spec = SPEC
    def world(self):
        return One()
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
    (tmp_path / "environments.py").write_text(ENVIRONMENTS)
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


# Environments.


@pytest.fixture
def hall() -> Iterator[GlueServer]:
    """A server that environments join, and nobody else."""
    with GlueServer(places={"environment": 1}) as hall:
        yield hall


def stepped(hall: GlueServer, actions: Sequence[int]) -> list[float]:
    """The rewards of one episode with these actions."""
    port = hall.environment(PATIENCE_S)
    assert port is not None
    port.send(EnvironmentInit(1))
    assert isinstance(port.receive(PATIENCE_S), Ready)
    none = np.zeros(0, np.uint32)
    port.send(Play(none, {}, {0: Cell("count", 0, 0, 0, Phase.TRAIN)}))
    port.receive(PATIENCE_S)
    rewards: list[float] = []
    for action in actions:
        port.send(Play(np.zeros(1, np.uint32), {"action": np.array([action])}, {}))
        played = port.receive(PATIENCE_S)
        assert isinstance(played, Played)
        rewards += played.rewards.tolist()
    port.close("that was all")
    return rewards


@pytest.mark.parametrize(
    ("arguments", "rewards"),
    [
        (["environments.py:Count"], [1.0, 3.0, 6.0]),
        (["environments.py:Count", "--arg", "by=10"], [10.0, 30.0, 60.0]),
        (["environments.py:Count", "--agent-arg", "by=10"], [10.0, 30.0, 60.0]),
        (["environments.py:Counts"], [1.0, 3.0, 6.0]),
    ],
    ids=str,
)
def test_an_environment_is_played_like_an_agent(
    hall: GlueServer, join: Join, arguments: list[str], rewards: list[float]
) -> None:
    process = join(*arguments, REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    assert stepped(hall, [1, 2, 3]) == rewards
    assert left(process) == (0, "reglue join: that was all\n")


def test_an_environment_is_called_by_its_class(hall: GlueServer, join: Join) -> None:
    join("environments.py:Counts", REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    port = hall.environment(PATIENCE_S)
    assert port is not None
    assert port.hello.environment == "Counts"


def test_an_agent_where_environments_join_is_exit_code_2(hall: GlueServer, join: Join) -> None:
    process = join("agents.py:Still", REGLUE_ADDRESS=hall.address, REGLUE_TOKEN=hall.token)
    assert left(process) == (2, "reglue join: agent: only environments join here\n")


def test_an_environment_where_agents_join_is_exit_code_2(join: Join) -> None:
    process = join("environments.py:Counts")
    assert left(process) == (2, "reglue join: environment: only agents join here\n")


# TLS.


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """Of other authorities: what an administrator may have told every gRPC program."""
    return written(tmp_path, roots=to_pem(private_authority().authority))["roots"]


def test_a_join_string_is_enough(join: Join, roots: Path) -> None:
    with GlueServer(tls=private_authority()) as server:
        process = join(
            "agents.py:Still",
            REGLUE_ADDRESS=str(server.invitation),
            REGLUE_TOKEN="",
            GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=str(roots),
        )
        play(server).close("well played")
        assert left(process) == (0, "reglue join: well played\n")


def test_authority_and_name_can_be_options(join: Join, tmp_path: Path) -> None:
    root = paper("root")
    tls = shown(paper("leaf", by=root, hosts=("hub.example.org",)), root, "hub.example.org")
    ca = written(tmp_path, ca=root.pem)["ca"]
    with GlueServer(tls=tls) as server:
        process = join(
            "agents.py:Still",
            *("--ca", str(ca), "--tls-name", "hub.example.org"),
            REGLUE_ADDRESS=server.address,
            REGLUE_TOKEN=server.token,
        )
        seated(server).close("done")
        assert left(process)[0] == 0


def test_roots_of_the_environment_are_not_trusted(join: Join, tmp_path: Path) -> None:
    tls = private_authority()
    roots = written(tmp_path, roots=to_pem(tls.authority))["roots"]
    with GlueServer(tls=tls) as server:
        stranger = replace(server.invitation, authority=private_authority().authority)
        code, words = left(
            join(
                "agents.py:Still",
                *("--address", str(stranger)),
                GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=str(roots),
            )
        )
    assert code == 2
    assert "is not signed by the authority that you trust" in words


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
        "reglue join: the glue went away: its end of the lane is closed\n",
    )


# 2: wrong usage.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agents.py:Stil"], "did you mean Still"),
        (["agents.py:Half"], "Half lacks agent_step()"),
        (["nowhere.py:Still"], "there is no file nowhere.py"),
        (["expret"], "did you mean expert?"),
        (["agents.py:Still", "--agent-arg", "word"], "got --arg 'word', wanted key=value"),
        (["agents.py:Still", "--agent-arg", "wrod=1"], "unexpected keyword argument 'wrod'"),
        (["environments.py:Unstepped"], "Unstepped lacks env_step(); write env_init()"),
        (["environments.py:Uncounted"], "Uncounted lacks variants; a suite has spec, variants"),
        (["agents.py:Still", "--token", "guess"], "wrong token"),
        (["agents.py:Still", "--ca", "no.pem"], "no.pem cannot be read: No such file"),
        (["agents.py:Still", "--ca", "agents.py"], "agents.py is no certificate"),
        (["agents.py:Still", "--tls-name", "hub"], "no authority to trust"),
        (["agents.py:Still", "--patience", "long"], "invalid float value"),
        ([], "the following arguments are required: partner"),
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
    assert (
        words == "reglue join: no address: give host:port or a join string, or set REGLUE_ADDRESS\n"
    )


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

"""Connecting: waiting for a glue, playing, and leaving for every reason there is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glue_server.port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Agent, Ends, Phase, Starts, Steps, TaskSpec, TensorSpec, Turn, connect
from reglue.calls import Actions, Freeze, Init, Message, Numbered
from reglue.environment import Worlds
from reglue.errors import (
    AgentFault,
    NotAnAgent,
    NotAnEnvironment,
    Refused,
    ReglueError,
    SessionLost,
    SpecError,
    Unreachable,
    UsageError,
    WrongToken,
    WrongVersion,
)
from reglue.grpc_settings import grpc
from reglue.v1 import agent_pb2 as pb
from reglue.wire.agent_messages import encode_call
from tests.glue_server.playing import SOLVED
from tests.leftovers import nothing_left
from tests.worlds import Corridor

PATIENCE_S = 20.0
SPEC = TaskSpec((TensorSpec("seen", "float32", (2,)),), (TensorSpec("action", "float32"),), slots=2)


class Still(Agent):
    """Does nothing, and says so."""

    def agent_start(self, observations: Any, starts: Any) -> Any:
        return np.zeros(len(starts))

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return np.zeros(len(steps))


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    with nothing_left():
        yield


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        yield server


@pytest.fixture
def start() -> Iterator[Callable[..., Future[str]]]:
    """Calls `connect` from a thread."""
    threads = ThreadPoolExecutor(1, thread_name_prefix="agent")
    yield lambda *arguments, **more: threads.submit(connect, *arguments, **more)
    threads.shutdown(wait=False, cancel_futures=True)


Start = Callable[..., "Future[str]"]


def seated(server: GlueServer) -> AgentPort:
    port = server.agent(PATIENCE_S)
    assert port is not None
    return port


@pytest.fixture
def free_port() -> Iterator[tuple[int, socket.socket]]:
    """A port on loopback that is ours and that nobody listens on."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1], holder


# Coming.


def test_address_and_token_come_from_the_environment(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_ADDRESS", server.address)
    monkeypatch.setenv("REGLUE_TOKEN", server.token)
    agent = start(Still())
    seated(server).close("welcome")
    assert agent.result(PATIENCE_S) == "welcome"


def test_no_address_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGLUE_ADDRESS", raising=False)
    with pytest.raises(UsageError, match="REGLUE_ADDRESS"):
        connect(Still())


def test_what_is_no_agent_is_told_before_anything_is_dialled() -> None:
    with pytest.raises(NotAnAgent):
        connect(object(), "127.0.0.1:1", "token")


def test_a_glue_that_comes_up_later_is_waited_for(
    start: Start, free_port: tuple[int, socket.socket]
) -> None:
    port, holder = free_port
    holder.listen()
    agent = start(Still(), f"127.0.0.1:{port}", "secret", patience_s=PATIENCE_S)
    holder.accept()[0].close()  # the agent has dialled, and nobody spoke to it
    holder.close()
    with GlueServer(f"127.0.0.1:{port}", token="secret") as server:
        seated(server).close("at last")
        assert agent.result(PATIENCE_S) == "at last"


def test_patience_has_an_end(free_port: tuple[int, socket.socket]) -> None:
    address = f"127.0.0.1:{free_port[0]}"
    with pytest.raises(Unreachable, match=rf"no glue answered at {address} within 0.2 s"):
        connect(Still(), address, "token", patience_s=0.2)


def test_a_proxy_is_not_asked_for_a_glue_on_this_host(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch, free_port: tuple[int, Any]
) -> None:
    """Clusters set `http_proxy` for everybody; nobody listens on this one."""
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port[0]}")
    agent = start(Still(), server.address, server.token, patience_s=PATIENCE_S)
    seated(server).close("direct")
    assert agent.result(PATIENCE_S) == "direct"


# Refused at the door.


def refused(server: GlueServer, kind: type[ReglueError], token: str | None = None) -> str:
    with pytest.raises(kind) as error:
        connect(Still(), server.address, token or server.token, patience_s=PATIENCE_S)
    assert error.type is kind
    return str(error.value)


def test_a_wrong_token_is_told_in_words_for_people(server: GlueServer) -> None:
    words = refused(server, WrongToken, token="guess")
    assert words == "wrong token: use the one that the host printed (--token or REGLUE_TOKEN)"


def test_a_wrong_version_is_told_in_words_for_people(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of the next version, as this one will one day be."""
    monkeypatch.setattr("reglue.door.PROTOCOL_MAJOR", 2)
    words = refused(server, WrongVersion)
    assert words == "got protocol version 2, wanted 1: use a client of this glue's version"


def test_a_wrong_role_is_told_in_words_for_people(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refused) as error:
        connect(Worlds(Corridor(solved=SOLVED)), server.address, server.token)
    assert str(error.value) == "environment: only agents join here"


def test_no_refusal_speaks_of_its_transport(server: GlueServer) -> None:
    words = refused(server, WrongToken, token="guess").lower()
    assert not {"grpc", "status", "rpc", "unauthenticated"} & {*words.split()}


# Leaving.


def test_the_farewells_reason_is_returned(server: GlueServer, start: Start) -> None:
    agent = start(Still(), server.address, server.token)
    seated(server).close("thank you")
    assert agent.result(PATIENCE_S) == "thank you"


def test_a_server_that_closes_says_farewell_for_a_driver_that_did_not(
    server: GlueServer, start: Start
) -> None:
    agent = start(Still(), server.address, server.token)
    seated(server)
    server.close()
    assert agent.result(PATIENCE_S) == "the glue has closed"


def test_a_session_that_ends_without_farewell_is_lost(server: GlueServer, start: Start) -> None:
    agent = start(Still(), server.address, server.token)
    port: Any = seated(server)
    port._line.end()
    with pytest.raises(SessionLost, match="the glue went away"):
        agent.result(PATIENCE_S)


GLUE = """
from glue_server.rpc import GlueServer
server = GlueServer(token="secret")
print(server.address, flush=True)
server.agent(60)
print("seated", flush=True)
input()
"""


def test_a_session_is_lost_when_the_glues_process_is_killed(start: Start) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", GLUE],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as glue:
        assert glue.stdout is not None
        agent = start(Still(), glue.stdout.readline().strip(), "secret")
        assert glue.stdout.readline() == "seated\n"
        glue.kill()
        with pytest.raises(SessionLost, match="the glue went away"):
            agent.result(PATIENCE_S)


# Agents that fail: their own error is raised here, its words are heard there.


class Failing(Still):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def agent_freeze(self) -> None:
        raise self.error


class BackEnd(grpc.RpcError):
    """What an agent's own client of some model server raises."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAUTHENTICATED

    def details(self) -> str:
        return "the model server wants a password"


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("no slope"),
        BackEnd(),
        SpecError("a spec of the agent's own"),
        SessionLost("a session of the agent's own"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_agent_raises_is_raised_as_it_is(
    server: GlueServer, start: Start, error: Exception
) -> None:
    agent = start(Failing(error), server.address, server.token)
    port = seated(server)
    port.send(Init(SPEC))
    port.receive(PATIENCE_S)
    port.send(Freeze())
    with pytest.raises(AgentFault, match=type(error).__name__):
        port.receive(PATIENCE_S)
    port.close("goodbye")
    assert agent.exception(PATIENCE_S) is error


def fault_of(server: GlueServer, start: Start, agent: Agent, *calls: Any) -> tuple[str, Any]:
    """What the glue hears and what `connect` raises at the last of `calls`."""
    future = start(agent, server.address, server.token)
    port = seated(server)
    for call in (Init(SPEC), *calls[:-1]):
        port.send(call)
        port.receive(PATIENCE_S)
    port.send(calls[-1])
    with pytest.raises(AgentFault) as heard:
        port.receive(PATIENCE_S)
    assert heard.type is AgentFault
    port.close("goodbye")
    return str(heard.value), future.exception(PATIENCE_S)


def a_start() -> Turn:
    none, flags = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    return Turn(
        Phase.TRAIN,
        Ends(none, flags),
        Steps(none, flags),
        Starts(np.zeros(1, np.uint32), np.zeros(1, np.uint64)),
        np.zeros(0),
        {"seen": np.zeros((1, 2), np.float32)},
    )


def test_an_answer_that_cannot_be_sent_is_the_agents_fault(
    server: GlueServer, start: Start
) -> None:
    class Wordless(Still):
        def agent_message(self, message: str) -> Any:
            return 42

    heard, raised = fault_of(server, start, Wordless(), Message("hello"))
    assert heard.startswith("TypeError: ")
    assert isinstance(raised, TypeError)


def test_a_slot_that_cannot_be_is_the_agents_fault(server: GlueServer, start: Start) -> None:
    class Negative(Still):
        def turn(self, turn: Turn) -> Any:
            return Actions({"action": np.zeros(1)}, abandon=(-1,))

    heard, raised = fault_of(server, start, Negative(), a_start())
    assert heard.startswith("ValueError: ")
    assert isinstance(raised, ValueError)


def test_an_answer_of_the_wrong_kind_is_named_on_both_ends(
    server: GlueServer, start: Start
) -> None:
    class Empty(Still):
        def agent_start(self, observations: Any, starts: Any) -> Any:
            return {"arm": [0]}

    heard, raised = fault_of(server, start, Empty(), a_start())
    assert heard == "NotAnAgent: the answer has tensors ['arm'], wanted ['action']"
    assert isinstance(raised, NotAnAgent)


# A glue that sends what nobody can read.


def lost_by(server: GlueServer, start: Start, *calls: pb.AgentCall) -> str:
    """The words of the SessionLost that follows these calls."""
    agent = start(Still(), server.address, server.token)
    port: Any = seated(server)
    for call in calls:
        port._line.put(call)
    with pytest.raises(SessionLost) as error:
        agent.result(PATIENCE_S)
    return str(error.value)


def init(**tensor: Any) -> pb.AgentCall:
    call = encode_call(Numbered(1, Init(SPEC)), None)
    for name, value in tensor.items():
        if name == "shape":
            call.init.spec.observations[0].shape[:] = value
        else:
            setattr(call.init.spec.observations[0], name, value)
    return call


def a_bad_turn(change: Callable[[pb.Turn], object]) -> pb.AgentCall:
    call = encode_call(Numbered(2, a_start()), SPEC)
    change(call.turn)
    return call


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([pb.AgentCall(seq=1)], "an unknown call"),
        ([pb.AgentCall(seq=1, turn=pb.Turn())], "turn before init"),
        ([pb.AgentCall(seq=1, freeze=pb.Freeze())], "freeze before init"),
        ([init(shape=[2**31, 2**31])], "got shape"),
        ([init(dtype=99)], "got dtype 99"),
        ([init(), a_bad_turn(lambda turn: setattr(turn, "phase", 9))], "got phase 9"),
        ([init(), a_bad_turn(lambda turn: turn.start_slots.__setitem__(0, 2))], "got slot 2"),
        ([init(), a_bad_turn(lambda turn: turn.observation.pop())], "got 0 tensors"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_call_ends_the_session(
    server: GlueServer, start: Start, calls: list[pb.AgentCall], words: str
) -> None:
    lost = lost_by(server, start, *calls)
    assert lost.startswith("the glue sent what this client cannot read: ")
    assert words in lost


def test_a_message_before_init_is_answered(server: GlueServer, start: Start) -> None:
    class Polite(Still):
        def agent_message(self, message: str) -> str:
            return "here"

    agent = start(Polite(), server.address, server.token)
    port = seated(server)
    port.send(Message("anybody?"))
    assert port.receive(PATIENCE_S) == Message("here")
    port.close("bye")
    assert agent.result(PATIENCE_S) == "bye"


@pytest.mark.parametrize("kind", [Worlds, Corridor])
def test_the_class_of_an_environment_is_no_environment(kind: type) -> None:
    words = f"got the class {kind.__name__}, wanted an object of it"
    with pytest.raises(NotAnEnvironment, match=words):
        connect(kind, "127.0.0.1:9", "secret", patience_s=0.1)


def test_who_waits_for_a_glue_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("reglue.door._QUIET_S", 0.1)
    with pytest.raises(Unreachable):
        connect(Still(), "127.0.0.1:9", "secret", patience_s=0.6)
    assert caplog.messages == ["waiting for a glue at 127.0.0.1:9, up to 0.6 s"]

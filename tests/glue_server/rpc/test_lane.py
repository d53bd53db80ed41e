"""The lane of a glue: who gets in over its Unix socket, and what strangers say there."""

from __future__ import annotations

import os
import select
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from glue_server.port import AgentPort
from glue_server.rpc import GlueServer
from reglue import Experiment, connect
from reglue.calls import Done, Freeze, Init, Message
from reglue.door import hello_proof, lane_proof
from reglue.errors import AgentDisconnected, AgentTimeout, SessionLost, UsageError
from reglue.grpc_settings import grpc
from reglue.lane import HELLO_BYTES
from reglue.lane_path import LONGEST
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import lobby_pb2, session_pb2
from tests.glue_server.playing import Follower, corridor_pool
from tests.glue_server.rpc.partners import PATIENCE_S, ask
from tests.leftovers import nothing_left

SPEC = corridor_pool().spec
_SHORT_S = 0.2


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with nothing_left(), GlueServer(transport="unix") as server:
        yield server


def ticket_of(server: GlueServer) -> lobby_pb2.Ticket:
    with grpc.insecure_channel(server.address) as channel:
        return ask(channel, token=server.token)


def frame(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message


class RawLane:
    """A partner on a Unix socket, byte by byte."""

    def __init__(self, ticket: lobby_pb2.Ticket) -> None:
        self.ticket = ticket
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(ticket.lane_path)

    def __enter__(self) -> RawLane:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def hello(self, **changed: Any) -> bytes:
        ticket = self.ticket
        proof = hello_proof(ticket.secret, ticket.session, changed.get("answered", 0))
        good: dict[str, Any] = {
            "major": 1,
            "session": ticket.session,
            "proof": proof,
            "agent": "raw",
        }
        return pb.AgentReply(hello=pb.Hello(**good | changed)).SerializeToString()

    def enter(self, **changed: Any) -> lobby_pb2.LaneWelcome:
        self.send(self.hello(**changed))
        return lobby_pb2.LaneWelcome.FromString(self.hear())

    def send(self, message: bytes) -> None:
        self.socket.sendall(frame(message))

    def hear(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(4), "little"))

    def call(self) -> pb.AgentCall:
        return pb.AgentCall.FromString(self.hear())

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the glue has closed the lane"
            data += more
        return data


def seated(server: GlueServer) -> AgentPort:
    port = server.agent(PATIENCE_S)
    assert port is not None
    return port


def done(seq: int) -> bytes:
    return pb.AgentReply(seq=seq, done=session_pb2.Done()).SerializeToString()


# Who gets in.


def test_the_welcome_shows_that_it_is_the_tickets_glue(server: GlueServer) -> None:
    with RawLane(ticket_of(server)) as lane:
        welcome = lane.enter()
        proof = lane_proof(lane.ticket.secret, lane.ticket.session, 0)
        assert (welcome.code, welcome.proof) == (0, proof)
        assert seated(server).hello.agent == "raw"


@pytest.mark.parametrize(
    ("changed", "code", "why"),
    [
        ({"proof": b"x" * 32}, "UNAUTHENTICATED", "somebody else's"),
        ({"proof": b""}, "UNAUTHENTICATED", "somebody else's"),
        ({"session": "another"}, "UNAUTHENTICATED", "no such ticket"),
        ({"major": 7}, "FAILED_PRECONDITION", "got protocol version 7"),
        ({"answered": 3}, "UNAUTHENTICATED", "lost its memory"),
    ],
)
def test_who_has_no_good_hello_is_told_why_and_takes_no_place(
    server: GlueServer, changed: Any, code: str, why: str
) -> None:
    with RawLane(ticket_of(server)) as lane:
        welcome = lane.enter(**changed)
        assert (welcome.code, welcome.proof) == (grpc.StatusCode[code].value[0], b"")
        assert why in welcome.why
        assert lane.is_closed()
    assert server.agent(0.0) is None


def test_a_ticket_of_another_role_does_not_do() -> None:
    with GlueServer(places={"agent": 1, "environment": 1}) as server:
        ticket = ticket_of(server)
        ticket.lane_path = ticket.lane_path.replace("/agent", "/environment")
        with RawLane(ticket) as lane:
            assert lane.enter().code


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        (HELLO_BYTES + 1).to_bytes(4, "little"),
        frame(b"no message at all"),
        frame(b""),
        frame(pb.AgentReply(seq=1).SerializeToString()),
    ],
)
def test_strangers_are_shown_out_before_anything_is_read(server: GlueServer, said: bytes) -> None:
    with RawLane(ticket_of(server)) as lane:
        lane.socket.sendall(said)
        data = b""
        while not data.endswith(b"hello") and (more := lane.socket.recv(4096)):
            data += more
        assert data == b"" or b"a session begins with a hello" in data
    with RawLane(ticket_of(server)) as lane:
        assert lane.enter().code == 0


def test_who_says_nothing_keeps_nobody_waiting(server: GlueServer) -> None:
    with RawLane(ticket_of(server)) as silent, RawLane(ticket_of(server)) as slow:
        hello = frame(slow.hello())
        slow.socket.sendall(hello[:9])
        silent.socket.sendall(b"\x10")
        with RawLane(slow.ticket) as quick:
            assert quick.enter().code == 0


def test_nobody_comes_over_grpc_where_the_lane_is_all(server: GlueServer) -> None:
    with pytest.raises(Exception, match="over its Unix socket alone"):
        connect(Follower(), server.address, server.token, transport="grpc", patience_s=1.0)


# Who is in.


def test_a_whole_message_counts_however_it_comes(server: GlueServer) -> None:
    with RawLane(ticket_of(server)) as lane:
        lane.enter()
        port = seated(server)
        port.send(Init(SPEC))
        port.send(Freeze())
        both = frame(done(lane.call().seq)) + frame(done(lane.call().seq))
        for at in range(len(both)):
            lane.socket.sendall(both[at : at + 1])
        assert [port.receive(PATIENCE_S), port.receive(PATIENCE_S)] == [Done(), Done()]


def test_half_a_message_and_silence_is_too_late(server: GlueServer) -> None:
    with RawLane(ticket_of(server)) as lane:
        lane.enter()
        port = seated(server)
        port.send(Init(SPEC))
        lane.socket.sendall(frame(done(lane.call().seq))[:-1])
        with pytest.raises(AgentTimeout):
            port.receive(_SHORT_S)


@pytest.mark.parametrize("said", [b"\xff\xff\xff\xff", (2**26 + 1).to_bytes(4, "little")])
def test_a_length_beyond_the_tickets_ends_the_session(server: GlueServer, said: bytes) -> None:
    with RawLane(ticket_of(server)) as lane:
        lane.enter()
        port = seated(server)
        port.send(Init(SPEC))
        lane.call()
        lane.socket.sendall(said)
        with pytest.raises(AgentDisconnected):
            port.receive(PATIENCE_S)
        assert lane.is_closed()


def test_what_is_no_message_ends_the_session(server: GlueServer) -> None:
    with RawLane(ticket_of(server)) as lane:
        lane.enter()
        port = seated(server)
        port.send(Init(SPEC))
        lane.call()
        lane.send(b"\xff" * 9)
        with pytest.raises(AgentDisconnected):
            port.receive(PATIENCE_S)


def test_a_partner_that_does_not_read_holds_nobody_up(server: GlueServer) -> None:
    """What does not fit into the socket waits, and comes in order when it reads again."""
    texts = [f"{number}" * 2**20 for number in range(6)]
    with RawLane(ticket_of(server)) as lane:
        lane.enter()
        port = seated(server)
        for text in texts:
            port.send(Message(text))
        heard = [lane.call() for _ in texts]
        assert [call.message.text for call in heard] == texts
        lane.send(done(heard[0].seq))
        assert port.receive(PATIENCE_S) == Done()


def test_a_partner_that_never_reads_does_not_keep_the_glue_from_closing() -> None:
    with nothing_left(), GlueServer() as server, RawLane(ticket_of(server)) as lane:
        lane.enter()
        seated(server).send(Message("x" * 2**22))


def test_a_newer_lane_takes_over() -> None:
    with GlueServer(grace_s=PATIENCE_S) as server, RawLane(ticket_of(server)) as old:
        old.enter()
        port = seated(server)
        port.send(Init(SPEC))
        old.call()
        with RawLane(old.ticket) as new:
            assert new.enter().code == 0
            assert old.is_closed()
            new.send(done(new.call().seq))
            assert port.receive(PATIENCE_S) == Done()


# Drivers that wait for several at once.


@pytest.mark.parametrize("transport", ["grpc", "unix"])
def test_the_descriptor_is_readable_when_an_answer_or_a_loss_waits(transport: Any) -> None:
    with (
        nothing_left(),
        GlueServer(transport=transport) as server,
        ThreadPoolExecutor(1) as threads,
    ):
        left = threads.submit(connect, Slow(), server.address, server.token)
        port: Any = seated(server)
        number = port.fileno()
        for text in ("0.2", "0.0", "0.1"):
            assert not readable(number, 0.0)
            port.send(Message(text))
            assert text == "0.0" or not readable(number, 0.0)
            assert readable(number, PATIENCE_S)
            assert port.receive(PATIENCE_S) == Message(text)
            assert port.fileno() == number
        port.send(Message("fail"))
        assert readable(number, PATIENCE_S)
        with pytest.raises(Exception, match="told to"):
            port.receive(PATIENCE_S)
        port.close("enough")
        with pytest.raises(RuntimeError, match="told to"):
            left.result(PATIENCE_S)


class Slow(Follower):
    """Answers a message after so many seconds."""

    def agent_message(self, message: str) -> str:
        if message == "fail":
            raise RuntimeError("told to")
        time.sleep(float(message))
        return message


def readable(number: int, timeout_s: float) -> bool:
    return bool(select.select([number], [], [], timeout_s)[0])


# Where the socket is.


def test_only_the_glues_user_enters_its_folder(server: GlueServer) -> None:
    path = Path(ticket_of(server).lane_path)
    assert modes(path) == (0o700, 0o600)


def test_everybody_enters_where_that_is_asked_for() -> None:
    with GlueServer(open_lane=True) as server:
        assert modes(Path(ticket_of(server).lane_path)) == (0o711, 0o666)


def modes(path: Path) -> tuple[int, int]:
    return stat.S_IMODE(path.parent.stat().st_mode), stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_gone_when_the_glue_has_closed() -> None:
    with GlueServer() as server:
        folder = Path(ticket_of(server).lane_path).parent
        assert folder.is_dir()
    assert not folder.exists()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose name leaves room for a socket's, whatever the temporary folder is."""
    with TemporaryDirectory(prefix="lane-", dir="/tmp") as folder:
        yield Path(folder)


def test_a_glue_that_cannot_listen_leaves_no_folder(short_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("REGLUE_LANE_DIR", str(short_path))
    with pytest.raises(UsageError, match="nowhere"):
        GlueServer("nowhere.invalid:0")
    assert list(short_path.iterdir()) == []


def test_a_volume_may_be_mounted_at_two_places(short_path: Path, monkeypatch: Any) -> None:
    """The glue's path does not exist for the partner; its own REGLUE_LANE_DIR says where."""
    there, here = short_path / "a", short_path / "b"
    there.mkdir()
    monkeypatch.setenv("REGLUE_LANE_DIR", str(there))
    with GlueServer(transport="unix") as server, ThreadPoolExecutor(1) as threads:
        assert Path(ticket_of(server).lane_path).parents[1] == there
        there.rename(here)
        monkeypatch.setenv("REGLUE_LANE_DIR", str(here))
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("seen")
        assert left.result(PATIENCE_S) == "seen"


def test_a_folder_too_long_for_a_socket_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("REGLUE_LANE_DIR", str(tmp_path / ("x" * LONGEST)))
    with pytest.raises(UsageError, match="too long for that: set REGLUE_LANE_DIR to a folder"):
        GlueServer()


def test_where_there_is_no_folder_partners_use_grpc(monkeypatch: Any) -> None:
    """A temporary folder with a long name is no reason not to play."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("REGLUE_LANE_DIR", raising=False)
    monkeypatch.setattr("glue_server.rpc.lane_folder.LONGEST", 9)
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        assert ticket_of(server).lane_path == ""
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("over gRPC")
        assert left.result(PATIENCE_S) == "over gRPC"
        with pytest.raises(UsageError, match="too long"):
            GlueServer(transport="unix")


# Who cannot open it.


@pytest.fixture
def mute(short_path: Path) -> Iterator[str]:
    """A Unix socket where somebody else answers every hello."""
    path = str(short_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(path)
        listener.listen()

        def answer() -> None:
            with listener.accept()[0] as end:
                end.recv(HELLO_BYTES)
                welcome = lobby_pb2.LaneWelcome(proof=b"?" * 32)
                end.sendall(frame(welcome.SerializeToString()))

        answering: Future[None] = threads.submit(answer)
        yield path
        answering.result(PATIENCE_S)


def misled(server: Any, path: str) -> None:
    """Tickets name that path."""
    from dataclasses import replace

    for places in server._lobby._places.values():
        places.terms = replace(places.terms, lane_path=path)


def test_a_path_that_is_not_there_leads_to_grpc() -> None:
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        misled(server, "/nowhere/reglue-0/agent")
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("over gRPC")
        assert left.result(PATIENCE_S) == "over gRPC"


def test_an_impostor_is_not_played_with(mute: str) -> None:
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        misled(server, mute)
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("over gRPC")
        assert left.result(PATIENCE_S) == "over gRPC"


def test_who_wants_the_lane_alone_says_why_there_is_none() -> None:
    with GlueServer(transport="grpc") as server:
        with pytest.raises(SessionLost, match="offers no Unix socket"):
            connect(Follower(), server.address, server.token, transport="unix")
        with pytest.raises(UsageError, match="got transport 'tcp', wanted auto, grpc, unix"):
            connect(Follower(), server.address, server.token, transport="tcp")  # type: ignore[arg-type]


def test_a_program_plays_over_the_lane_too() -> None:
    with GlueServer(transport="unix", places={"experiment": 1}) as server:
        with ThreadPoolExecutor(1) as threads:
            program = Experiment(server.address, server.token)
            said = threads.submit(program.agent_message, "hello")
            port: Any = server.next("experiment", PATIENCE_S)
            while (call := port.next(PATIENCE_S)) is None:
                assert not port.is_gone
            port.answer(Message(f"{call.text}?"))
            assert said.result(PATIENCE_S) == "hello?"
        program.close()
        assert port.is_gone


KILLED = """
import os, signal
from glue_server.rpc import GlueServer
server = GlueServer(token="secret")
print(server._lobby._places["agent"].terms.lane_path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_glue_left_harms_nobody(short_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("REGLUE_LANE_DIR", str(short_path))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert Path(killed.stdout.strip()).exists()
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("alive")
        assert left.result(PATIENCE_S) == "alive"


def test_a_large_turn_passes_whole(server: GlueServer) -> None:
    class Echo(Follower):
        def agent_message(self, message: str) -> str:
            return message

    text = "".join(map(chr, np.random.default_rng(0).integers(32, 127, 2**22)))
    with ThreadPoolExecutor(1) as threads:
        left = threads.submit(connect, Echo(), server.address, server.token)
        port = seated(server)
        port.send(Message(text))
        assert port.receive(PATIENCE_S) == Message(text)
        port.close("bye")
        assert left.result(PATIENCE_S) == "bye"

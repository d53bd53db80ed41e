"""The glue's end of one stream."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from glue_server.processes.readable import readable
from glue_server.rpc.peer_streams import GrpcStream, StreamEnded
from reglue.v1 import agent_pb2 as pb
from tests.glue_server.rpc.peers import PATIENCE_S, LocalStream
from tests.waiting import until


def test_a_peer_that_sends_without_end_is_read_a_few_messages_ahead() -> None:
    """The rest waits in gRPC, which holds up the peer: nobody's memory is filled."""
    taken: list[int] = []

    def messages() -> Iterator[bytes]:
        for number in range(1000):
            taken.append(number)
            yield b"%d" % number

    stream = GrpcStream(messages())
    until(lambda: len(taken) == 9, "eight are here, and one waits for room")
    assert [stream.receive(PATIENCE_S) for _ in range(3)] == [b"0", b"1", b"2"]
    until(lambda: len(taken) == 12, "three more have come")
    stream.end()
    until(lambda: "reglue-reader" not in [each.name for each in threading.enumerate()], "it ends")
    assert len(taken) < 20


def test_its_descriptor_shows_what_has_come_and_its_end() -> None:
    line = LocalStream()
    try:
        line.say(pb.AgentReply(seq=1))
        descriptor = line.stream.fileno()
        assert readable([descriptor], PATIENCE_S)
        line.say(pb.AgentReply(seq=2))
        for seq in (1, 2):
            message = line.stream.receive(PATIENCE_S)
            assert pb.AgentReply.FromString(message or b"").seq == seq
        assert not readable([descriptor], 0.0)
        assert line.stream.receive(0.0) is None
        line.break_off()
        assert readable([descriptor], PATIENCE_S)
        for _ in range(2):
            with pytest.raises(StreamEnded):
                line.stream.receive(PATIENCE_S)
            assert readable([descriptor], 0.0)
    finally:
        line.stream.end()
    assert line.stream.fileno() == -1


def test_its_end_is_heard_by_who_receives() -> None:
    line, heard = LocalStream(), threading.Event()

    def receive() -> None:
        with suppress(StreamEnded):
            while True:
                line.stream.receive(PATIENCE_S)
        heard.set()

    receiving = threading.Thread(target=receive)
    receiving.start()
    line.stream.send(b"last words")
    line.stream.end()
    assert heard.wait(PATIENCE_S)
    receiving.join()
    assert list(line.heard) == [b"last words"]

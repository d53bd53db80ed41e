"""The copies of an observation on its way from a world to an agent on a Unix socket."""

from __future__ import annotations

import os
import socket
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest

from glue_server.agent.turn_rows import ends_and_steps, turn_of
from glue_server.environment.shared_arrays import SharedArrays
from glue_server.environment.worker_pool import new_memory
from glue_server.rpc import GlueServer
from glue_server.rpc.peer_codecs import AgentCodec
from reglue import Experiment
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Step
from reglue.messages.agent_messages import UNLIMITED, AgentInit, Numbered, Phase, Turn
from reglue.messages.environment_messages import Cell, Play
from reglue.messages.experiment_messages import Answer, Stepped
from reglue.net.unix_socket import UnixSocket
from reglue.spec import Array, Arrays, Discrete, TaskSpec, TensorSpec
from reglue.v1 import agent_pb2
from reglue.wire.agent_encoding import decode_call
from reglue.wire.layout import Repeats, numbered
from reglue.wire.repeated_messages import (
    decode_repeated_turn,
    see_turn,
)

SIZE = 2**20  # bytes of an observation
MOST_BYTES = 2**22
SLOT = np.zeros(1, np.uint32)
NO_SLOT = np.zeros(0, np.uint32)

_Result = TypeVar("_Result")


class Picture:
    """A world whose observation is the same array, filled with the number of steps."""

    def __init__(self) -> None:
        self._seen = np.zeros(SIZE, np.uint8)

    def start(self, cell: Cell) -> Arrays:
        self._seen[:] = 0
        return {"picture": self._seen}

    def step(self, action: Arrays) -> Step:
        self._seen += 1
        return Step(1.0, {"picture": self._seen}, False, False, False)

    def close(self) -> None:
        pass


class Pictures:
    """A suite of them."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        (TensorSpec("picture", "uint8", (SIZE,)),),
        (TensorSpec("action", "int64", (), Discrete(2)),),
    )
    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"picture": 1})
    standardizes = False

    def world(self) -> Picture:
        return Picture()


class Copies:
    """Counts copies of an observation by the memory that is taken for them.

    What protobuf takes is not traced: it may not be used.
    """

    def __init__(self) -> None:
        self.count = 0

    def of(self, part: Callable[[], _Result]) -> _Result:
        """The result of `part`."""
        tracemalloc.start()
        try:
            result = part()
            self.count += round(tracemalloc.get_traced_memory()[1] / SIZE)
        finally:
            tracemalloc.stop()
        return result


class Way:
    """The parts that an observation passes, in one process."""

    def __init__(self) -> None:
        self._worlds = Worlds(Pictures())
        self._spec = self._worlds.spec = self._worlds.env_init(1)
        memory = new_memory()
        self._theirs, self._ours = (SharedArrays(self._spec, memory) for _ in range(2))
        os.close(memory)
        self._codec, self._repeats, self._seq = AgentCodec(MOST_BYTES), Repeats(), 1
        self._codec.encode(1, AgentInit(self._spec), UNLIMITED)
        ends = socket.socketpair()
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * SIZE)
        self._sender, self._receiver = (UnixSocket(end, MOST_BYTES) for end in ends)
        start = Play(NO_SLOT, {}, {0: Cell("picture", 0, 0, 0, Phase.TRAIN)})
        assert not self._theirs.answer(start, self._worlds).faults

    def step(self, copies: Copies) -> Array:
        """The picture that the agent gets."""
        play = Play(SLOT, {"action": np.zeros(1, np.int64)}, {})
        # The worker's copy lies in memory that is there already.
        assert not copies.of(lambda: self._theirs.answer(play, self._worlds)).faults
        copies.count += 1
        played = copies.of(lambda: self._ours.played(play, {}, frozenset()))
        _, rows = ends_and_steps(SLOT, np.zeros(1, np.uint8), played, None)
        turn = copies.of(lambda: turn_of(self._spec, Phase.TRAIN, steps=rows))
        self._seq += 1
        message = copies.of(lambda: self._codec.encode(self._seq, turn, UNLIMITED))
        received = copies.of(lambda: self._carry(message))
        call = copies.of(lambda: self._read(received))
        assert isinstance(call.call, Turn)
        return call.call.observations["picture"]

    def _carry(self, message: bytes) -> bytes:
        """Over the socket, as much at once as it takes."""
        rest = self._sender.send(message, 0.0)
        received = self._receiver.receive(0.0)
        while received is None:
            rest = self._sender.send_rest(rest, 0.0) if rest else rest
            received = self._receiver.receive(0.0)
        return received

    def _read(self, content: bytes) -> Numbered:
        at = len(numbered(self._seq))
        call = decode_repeated_turn(self._seq, content, at, self._spec, self._repeats)
        if call is None:
            message = agent_pb2.AgentCall.FromString(content)
            call = decode_call(message, self._spec)
            see_turn(call, message, self._spec, self._repeats)
        return call

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()


def unused(*_: object) -> None:
    raise AssertionError("protobuf copies rows three times")


def test_an_observation_is_copied_at_most_five_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into shared memory, out of it, into the message, out of the socket, out of the message."""
    way = Way()
    try:
        for _ in range(3):  # the messages' layout and the socket's buffer are made
            kept = way.step(Copies())
        monkeypatch.setattr("reglue.wire.repeated_messages.encode_call", unused)
        monkeypatch.setattr(agent_pb2.AgentCall, "FromString", unused, raising=False)
        copies = Copies()
        seen = way.step(copies)
    finally:
        way.close()
    assert copies.count <= 5
    assert (seen == 4).all()
    assert (kept == 3).all()  # an agent keeps memory that stays
    assert seen.flags.writeable


def test_a_program_reads_a_step_like_the_one_before_without_protobuf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = Pictures().spec
    no, seen = np.zeros(1, np.bool_), {"picture": np.ones((1, SIZE), np.uint8)}
    stepped = Stepped((0,), np.zeros(1), seen, no, no, no, {"action": np.zeros(1, np.int64)})
    answers: list[Answer] = [spec, *[stepped] * 4]
    with (
        GlueServer(places={"experiment": 1}) as server,
        ThreadPoolExecutor(1) as threads,
        Experiment(server.address, server.token) as rl,
    ):
        told = threads.submit(answer_all, server, answers)
        rl.init()
        for _ in range(3):
            rl.step()
        monkeypatch.setattr("reglue.net.experiment_session.decode_answer", unused)
        assert (rl.step().observations["picture"] == 1).all()
        told.result(60.0).close("that was all")


def answer_all(server: GlueServer, answers: Sequence[Answer]) -> Any:
    """Answer a program's calls in turn; the glue's end of its session."""
    port: Any = server.next("experiment", 60.0)
    for answer in answers:
        while port.next(60.0) is None:
            assert not port.is_gone
        port.answer(answer)
    return port

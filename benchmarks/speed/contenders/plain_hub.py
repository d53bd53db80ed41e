"""The least that a Python hub can do: Reglue's messages between four processes.

The hub reads each message, checks the sizes of what is in it, that the reward is finite and the
action legal, and passes the bytes on, over Unix sockets or streams of gRPC. There are no sessions
that come back, budgets, slots, counts or recorded actions.
"""

from __future__ import annotations

import math
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

import grpc
import numpy as np

from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from speed.contenders.plain_transports import METHOD, actions, receive, send, turn
from speed.launches import Helper, serve
from speed.light import NUMBERS, Light

_REWARD, _ACTION = struct.Struct("<d"), struct.Struct("<q")
_WAIT_S = 60.0


class Line(Protocol):
    """A connection of two processes."""

    def send(self, message: bytes) -> None:
        """One message."""

    def receive(self) -> bytes:
        """The next one; nothing if the other end has left."""

    def close(self) -> None:
        """Leave."""


class SocketLine:
    """A Unix socket."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(_WAIT_S)
        self._connection = connection

    def send(self, message: bytes) -> None:
        """Behind its length."""
        send(self._connection, message)

    def receive(self) -> bytes:
        """As of any Line."""
        return receive(self._connection)

    def close(self) -> None:
        """As of any Line."""
        self._connection.close()


class StreamLine:
    """A stream of gRPC. A thread takes in what comes: grpcio has no wait with a deadline."""

    def __init__(self, incoming: Iterator[bytes], outgoing: SimpleQueue[bytes | None]) -> None:
        self._incoming = incoming
        self._inbox: SimpleQueue[bytes] = SimpleQueue()
        self.send = outgoing.put
        self._outgoing = outgoing
        Thread(target=self._take_in, daemon=True).start()

    def receive(self) -> bytes:
        """As of any Line."""
        return self._inbox.get(timeout=_WAIT_S)

    def close(self) -> None:
        """As of any Line."""
        self._outgoing.put(None)

    def _take_in(self) -> None:
        with suppress(grpc.RpcError):
            for message in self._incoming:
                self._inbox.put(message)
        self._inbox.put(b"")


def program(way: str) -> None:
    """The side that asks; `way` is socket or grpc."""
    with _served(way, "hub") as line:
        count = 0

        def measure(steps: int, routine: str = "step") -> dict[str, float]:
            """Seconds for so many steps."""
            nonlocal count
            calls = {
                "step": steps * [experiment_pb2.ExperimentCall(step=experiment_pb2.RlStep())],
                "episode": [
                    experiment_pb2.ExperimentCall(episode=experiment_pb2.RlEpisode(max_steps=steps))
                ],
            }[routine]
            began = time.perf_counter()
            for call in calls:
                count += 1
                call.seq = count
                line.send(call.SerializeToString())
                experiment_pb2.ExperimentReply.FromString(line.receive())
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(measure)


def hub(line: Line, way: str) -> None:
    """Pass on what environment and agent say."""
    with _served(way, "environment") as environment, _served(way, "agent") as agent:
        action = bytes(_ACTION.size)
        while message := line.receive():
            asked = experiment_pb2.ExperimentCall.FromString(message)
            seq = asked.seq
            for _ in range(asked.episode.max_steps or 1):
                play = environment_pb2.Play(step_slots=[0], actions=[action])
                call = environment_pb2.EnvironmentCall(seq=seq, play=play)
                environment.send(call.SerializeToString())
                played = environment_pb2.EnvironmentReply.FromString(environment.receive()).played
                reward, (seen,), flags = played.rewards, played.observations, played.flags
                assert len(seen) == 8 * NUMBERS, "a whole observation"
                assert math.isfinite(*_REWARD.unpack(reward)), "a finite reward"
                agent.send(turn(seq, reward, seen).SerializeToString())
                (action,) = agent_pb2.AgentReply.FromString(agent.receive()).actions.actions
                assert 0 <= _ACTION.unpack(action)[0] < 2, "a legal action"
            stepped = experiment_pb2.Stepped(
                slots=[0], rewards=reward, observations=[seen], flags=flags, actions=[action]
            )
            reply = experiment_pb2.ExperimentReply(seq=seq, stepped=stepped)
            line.send(reply.SerializeToString())


def environment(line: Line) -> None:
    """The light one."""
    light = Light()
    while message := line.receive():
        call = environment_pb2.EnvironmentCall.FromString(message)
        reward, seen = light.step(_ACTION.unpack(call.play.actions[0])[0])
        played = environment_pb2.Played(
            rewards=_REWARD.pack(reward), observations=[seen.tobytes()], flags=bytes(1)
        )
        reply = environment_pb2.EnvironmentReply(seq=call.seq, played=played)
        line.send(reply.SerializeToString())


def agent(line: Line) -> None:
    """Zeros."""
    while message := line.receive():
        call = agent_pb2.AgentCall.FromString(message)
        np.frombuffer(call.turn.observations[0])
        line.send(actions(call.seq, bytes(_ACTION.size)).SerializeToString())


@contextmanager
def _served(way: str, role: str) -> Iterator[Line]:
    """A process that plays `role`, and the line to it."""
    listener = {"socket": _socket_listener, "grpc": _stream_listener}[way]()
    with (
        listener as (address, joined),
        Helper("plain_hub", way, role, address),
        closing(joined.get(timeout=_WAIT_S)) as line,
    ):
        yield line


@contextmanager
def _socket_listener() -> Iterator[tuple[str, SimpleQueue[Line]]]:
    """The address to join at, and the queue of those that have joined."""
    joined: SimpleQueue[Line] = SimpleQueue()

    def accept() -> None:
        joined.put(SocketLine(listener.accept()[0]))

    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as listener,
        ThreadPoolExecutor(1) as accepting,
    ):
        path = str(Path(folder, "s"))
        listener.bind(path)
        listener.listen()
        accepting.submit(accept)
        yield path, joined


@contextmanager
def _stream_listener() -> Iterator[tuple[str, SimpleQueue[Line]]]:
    """The address to join at, and the queue of streams that have joined."""
    joined: SimpleQueue[Line] = SimpleQueue()

    def connect(incoming: Iterator[bytes], _context: grpc.ServicerContext) -> Iterator[Any]:
        outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        joined.put(StreamLine(incoming, outgoing))
        return iter(outgoing.get, None)

    server = grpc.server(ThreadPoolExecutor(1))
    handler: Any = grpc.stream_stream_rpc_method_handler(connect)
    service, method = METHOD.strip("/").split("/")
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {method: handler})]
    )
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield address, joined
    server.stop(None).wait()


@contextmanager
def _joined(way: str, address: str) -> Iterator[Line]:
    """The other end."""
    if way == "socket":
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            yield SocketLine(connection)
    else:
        with grpc.insecure_channel(address) as channel:
            outgoing: SimpleQueue[bytes | None] = SimpleQueue()
            connect: Any = channel.stream_stream(METHOD)
            with closing(StreamLine(connect(iter(outgoing.get, None)), outgoing)) as line:
                yield line


if __name__ == "__main__":
    match sys.argv[1:]:
        case [way]:
            program(way)
        case [way, role, address]:
            with _joined(way, address) as joined:
                match role:
                    case "hub":
                        hub(joined, way)
                    case "environment":
                        environment(joined)
                    case "agent":
                        agent(joined)

"""The bytes of one step over the light environment, as Reglue's own sessions carry them."""

from __future__ import annotations

import select
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

import grpc  # not by reglue.net.grpc_settings: these are gRPC's own defaults
import numpy as np

from reglue.messages.agent_messages import Phase
from reglue.v1 import agent_pb2 as pb
from speed.launches import Helper, serve
from speed.light import NUMBERS, Light


def turn(seq: int, reward: bytes, observation: bytes) -> pb.AgentCall:
    """A step of slot 0."""
    return pb.AgentCall(
        seq=seq,
        turn=pb.Turn(
            phase=int(Phase.TRAIN),  # type: ignore[arg-type]
            step_slots=[0],
            step_flags=[0],
            rewards=reward,
            observations=[observation],
        ),
    )


def actions(seq: int, action: bytes) -> pb.AgentReply:
    """Its answer."""
    return pb.AgentReply(seq=seq, actions=pb.Actions(actions=[action]))


CALL = turn(10_000, bytes(8), bytes(8 * NUMBERS)).SerializeToString()
REPLY = actions(10_000, bytes(8)).SerializeToString()


_LENGTH = struct.Struct("<I")


def ask_socket() -> None:
    """The side that asks."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(Path(folder, "s"))
        listener.bind(path)
        listener.listen()
        with Helper("plain_transports", "socket", path), listener.accept()[0] as line:

            def measure(steps: int) -> dict[str, float]:
                """Seconds for so many round trips."""
                began = time.perf_counter()
                for _ in range(steps):
                    send(line, CALL)
                    receive(line)
                return {"seconds": time.perf_counter() - began, "steps": steps}

            serve(measure)


def ask_sockets(most: int) -> None:
    """The side that asks up to so many others, in one loop."""
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory())
        listener = closing.enter_context(socket.socket(socket.AF_UNIX))
        path = str(Path(folder, "s"))
        listener.bind(path)
        listener.listen(most)
        for _ in range(most):
            closing.enter_context(Helper("plain_transports", "socket", path))
        lines = [closing.enter_context(listener.accept()[0]) for _ in range(most)]

        def measure(count: int, seconds: float) -> dict[str, float]:
            """Round trips of so many of them together, in so many seconds."""
            taken = 0
            by_number = {line.fileno(): line for line in lines[:count]}
            with select.epoll() as ready:
                for number, line in by_number.items():
                    ready.register(number, select.EPOLLIN)
                    send(line, CALL)
                began = time.perf_counter()
                while (passed_s := time.perf_counter() - began) < seconds:
                    for number, _ in ready.poll():
                        receive(by_number[number])
                        send(by_number[number], CALL)
                        taken += 1
                for line in by_number.values():
                    receive(line)
            return {"steps": taken, "seconds": passed_s}

        serve(measure)


def answer_socket(path: str) -> None:
    """The side that answers."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        while receive(line):
            send(line, REPLY)


def send(line: socket.socket, message: bytes) -> None:
    """One message, behind its length."""
    line.sendall(_LENGTH.pack(len(message)) + message)


def receive(line: socket.socket) -> bytes:
    """The next message; nothing if the other end has left."""
    if not (head := line.recv(_LENGTH.size)):
        return b""
    (size,) = _LENGTH.unpack(head)
    message = line.recv(size)
    while len(message) < size:
        message += line.recv(size - len(message))
    return message


METHOD = "/speed.Plain/Connect"


def ask_stream() -> None:
    """The side that asks: the light environment is here."""
    with Helper("plain_transports", "stream", "answer") as helper:
        channel = grpc.insecure_channel(helper.line())
        connect = channel.stream_stream(
            METHOD,
            request_serializer=pb.AgentCall.SerializeToString,
            response_deserializer=pb.AgentReply.FromString,
        )
        calls: SimpleQueue[pb.AgentCall | None] = SimpleQueue()
        replies: Iterator[pb.AgentReply] = iter(connect(iter(calls.get, None)))
        light = Light()

        def measure(steps: int) -> dict[str, float]:
            """Seconds for so many steps."""
            action = 0
            began = time.perf_counter()
            for seq in range(steps):
                reward, seen = light.step(action)
                calls.put(turn(seq, np.float64(reward).tobytes(), seen.tobytes()))
                action = int(np.frombuffer(next(replies).actions.actions[0], np.int64)[0])
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(measure)
        calls.put(None)
        channel.close()


def answer_stream() -> None:
    """The side that answers, until its input ends."""
    server = grpc.server(ThreadPoolExecutor(2))
    connect = grpc.stream_stream_rpc_method_handler(
        _answers,
        request_deserializer=pb.AgentCall.FromString,
        response_serializer=pb.AgentReply.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("speed.Plain", {"Connect": connect})]
    )
    sys.stdout.write(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}\n")
    server.start()
    sys.stdout.flush()
    sys.stdin.read()
    server.stop(None).wait()


def _answers(
    calls: Iterator[pb.AgentCall], _context: grpc.ServicerContext
) -> Iterator[pb.AgentReply]:
    for call in calls:
        np.frombuffer(call.turn.observations[0])
        yield actions(call.seq, np.zeros(1, np.int64).tobytes())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["socket"]:
            ask_socket()
        case ["sockets", most]:
            ask_sockets(int(most))
        case ["socket", path]:
            answer_socket(path)
        case ["stream"]:
            ask_stream()
        case ["stream", "answer"]:
            answer_stream()

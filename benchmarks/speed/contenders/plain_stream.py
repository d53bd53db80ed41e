"""A bidirectional gRPC stream as its tutorial has it: synchronous, default settings.

The same messages as Reglue's; no deadlines, no numbers that are checked, no validation.
The side that answers is the server, which saves it a thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import grpc  # not by reglue.net.grpc_settings: these are gRPC's own defaults
import numpy as np

from reglue.v1 import agent_pb2 as pb
from speed.contender import Helper, serve
from speed.light import Light
from speed.messages import actions, turn

METHOD = "/speed.Plain/Connect"


def main() -> None:
    """The side that asks: the light environment is here."""
    with Helper("plain_stream", "answer") as helper:
        channel = grpc.insecure_channel(helper.line())
        connect = channel.stream_stream(
            METHOD,
            request_serializer=pb.AgentCall.SerializeToString,
            response_deserializer=pb.AgentReply.FromString,
        )
        calls: SimpleQueue[pb.AgentCall | None] = SimpleQueue()
        replies: Iterator[pb.AgentReply] = iter(connect(iter(calls.get, None)))
        light = Light()

        def metric(steps: int) -> dict[str, float]:
            """Seconds for so many steps."""
            action = 0
            began = time.perf_counter()
            for seq in range(steps):
                reward, seen = light.step(action)
                calls.put(turn(seq, np.float64(reward).tobytes(), seen.tobytes()))
                action = int(np.frombuffer(next(replies).actions.action[0], np.int64)[0])
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(metric)
        calls.put(None)
        channel.close()


def answer() -> None:
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
        np.frombuffer(call.turn.observation[0])
        yield actions(call.seq, np.zeros(1, np.int64).tobytes())


if __name__ == "__main__":
    answer() if sys.argv[1:] else main()

"""The least that a Python hub can do: Reglue's messages over Unix sockets, four processes.

The hub reads each message, checks the sizes of what is in it, that the reward is finite and the
action legal, and passes the bytes on. There are no sessions that come back, budgets, slots, counts
or recorded actions.
"""

from __future__ import annotations

import math
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from speed.contenders.plain_transports import actions, receive, send, turn
from speed.harness import Helper, serve
from speed.light import NUMBERS, Light

_REWARD, _ACTION = struct.Struct("<d"), struct.Struct("<q")
_WAIT_S = 60.0


def program() -> None:
    """The side that asks."""
    with _served("hub") as line:
        asked = 0

        def measure(steps: int) -> dict[str, float]:
            """Seconds for so many steps."""
            nonlocal asked
            began = time.perf_counter()
            for _ in range(steps):
                asked += 1
                call = experiment_pb2.ExperimentCall(seq=asked, step=experiment_pb2.RlStep())
                send(line, call.SerializeToString())
                experiment_pb2.ExperimentReply.FromString(receive(line))
            return {"seconds": time.perf_counter() - began, "steps": steps}

        serve(measure)


def hub(line: socket.socket) -> None:
    """Pass on what environment and agent say."""
    with _served("environment") as environment, _served("agent") as agent:
        action = bytes(_ACTION.size)
        while message := receive(line):
            seq = experiment_pb2.ExperimentCall.FromString(message).seq
            play = environment_pb2.Play(step_slots=[0], actions=[action])
            call = environment_pb2.EnvironmentCall(seq=seq, play=play)
            send(environment, call.SerializeToString())
            played = environment_pb2.EnvironmentReply.FromString(receive(environment)).played
            reward, (seen,), flags = played.rewards, played.observations, played.flags
            assert len(seen) == 8 * NUMBERS, "a whole observation"
            assert math.isfinite(*_REWARD.unpack(reward)), "a finite reward"
            send(agent, turn(seq, reward, seen).SerializeToString())
            (action,) = agent_pb2.AgentReply.FromString(receive(agent)).actions.actions
            assert 0 <= _ACTION.unpack(action)[0] < 2, "a legal action"
            stepped = experiment_pb2.Stepped(
                slots=[0], rewards=reward, observations=[seen], flags=flags, actions=[action]
            )
            reply = experiment_pb2.ExperimentReply(seq=seq, stepped=stepped)
            send(line, reply.SerializeToString())


def environment(line: socket.socket) -> None:
    """The light one."""
    light = Light()
    while message := receive(line):
        call = environment_pb2.EnvironmentCall.FromString(message)
        reward, seen = light.step(_ACTION.unpack(call.play.actions[0])[0])
        played = environment_pb2.Played(
            rewards=_REWARD.pack(reward), observations=[seen.tobytes()], flags=bytes(1)
        )
        reply = environment_pb2.EnvironmentReply(seq=call.seq, played=played)
        send(line, reply.SerializeToString())


def agent(line: socket.socket) -> None:
    """Zeros."""
    while message := receive(line):
        call = agent_pb2.AgentCall.FromString(message)
        np.frombuffer(call.turn.observations[0])
        send(line, actions(call.seq, bytes(_ACTION.size)).SerializeToString())


@contextmanager
def _served(role: str) -> Iterator[socket.socket]:
    """A process that plays `role`, and the line to it."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(Path(folder, "s"))
        listener.bind(path)
        listener.listen()
        with Helper("plain_hub", role, path), listener.accept()[0] as line:
            line.settimeout(_WAIT_S)
            yield line


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            program()
        case [role, path]:
            with socket.socket(socket.AF_UNIX) as joined:
                joined.connect(path)
                {"hub": hub, "environment": environment, "agent": agent}[role](joined)

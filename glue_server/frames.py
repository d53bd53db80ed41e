"""How a pool and its worker processes talk: frames over a socket pair.

A frame is two lengths (uint32, big-endian), a JSON head and a binary body.
Both ends are ours; floats travel as bytes, so that none loses a bit.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from env_adapters import Cell, Step
from reglue.calls import Phase
from reglue.errors import EnvironmentFault
from reglue.spec import Arrays, TaskSpec, TensorSpec

_LENGTHS = struct.Struct(">II")
_STEP = struct.Struct("<d???")  # reward, terminated, truncated, success


def write_frame(channel: socket.socket, head: Mapping[str, Any], body: bytes = b"") -> None:
    """Send one frame, whole. Raises OSError if the other end is gone."""
    text = json.dumps(head).encode()
    channel.sendall(_LENGTHS.pack(len(text), len(body)) + text + body)


def read_frame(channel: socket.socket) -> tuple[dict[str, Any], memoryview]:
    """Wait for one frame. Raises EOFError or OSError if the other end is gone."""
    text_bytes, body_bytes = _LENGTHS.unpack(_read(channel, _LENGTHS.size))
    head: dict[str, Any] = json.loads(bytes(_read(channel, text_bytes)))
    return head, _read(channel, body_bytes)


def _read(channel: socket.socket, size: int) -> memoryview:
    buffer = memoryview(bytearray(size))
    filled = 0
    while filled < size:
        received = channel.recv_into(buffer[filled:])
        if not received:
            raise EOFError("the other end closed")
        filled += received
    return buffer


def write_work(
    channel: socket.socket, starts: Mapping[int, Cell], steps: Mapping[int, bytes]
) -> None:
    """Pool to worker: cells to begin, actions to take."""
    cells = {
        slot: [cell.task, cell.variant, cell.seed, cell.repeat, int(cell.phase)]
        for slot, cell in starts.items()
    }
    write_frame(channel, {"start": cells, "step": list(steps)}, b"".join(steps.values()))


def read_work(channel: socket.socket, spec: TaskSpec) -> tuple[dict[int, Cell], dict[int, bytes]]:
    """The worker's end of `write_work`."""
    head, body = read_frame(channel)
    starts = {
        int(slot): Cell(task, variant, seed, repeat, Phase(phase))
        for slot, (task, variant, seed, repeat, phase) in head["start"].items()
    }
    row = sum(tensor.row_bytes for tensor in spec.actions)
    steps = {
        slot: bytes(body[place * row : (place + 1) * row])
        for place, slot in enumerate(head["step"])
    }
    return starts, steps


def write_answers(
    channel: socket.socket, spec: TaskSpec, answers: Mapping[int, Arrays | Step | EnvironmentFault]
) -> None:
    """Worker to pool: what each slot answered."""
    head: dict[str, Any] = {"started": [], "stepped": [], "faults": {}}
    started, stepped = [], []
    for slot, answer in answers.items():
        match answer:
            case EnvironmentFault():
                head["faults"][slot] = str(answer)
            case Step():
                head["stepped"].append(slot)
                flags = (answer.terminated, answer.truncated, answer.success)
                stepped.append(_STEP.pack(answer.reward, *flags))
                stepped.extend(_observation(spec, answer.observation))
            case observation:
                head["started"].append(slot)
                started.extend(_observation(spec, observation))
    write_frame(channel, head, b"".join(started + stepped))


def read_answers(
    channel: socket.socket, spec: TaskSpec
) -> dict[int, Arrays | Step | EnvironmentFault]:
    """The pool's end of `write_answers`."""
    head, body = read_frame(channel)
    answers: dict[int, Arrays | Step | EnvironmentFault] = {}
    start = 0
    for slot in head["started"]:
        answers[slot] = dict(_arrays(spec.observations, body, start))
        start += _size(spec.observations)
    for slot in head["stepped"]:
        reward, terminated, truncated, success = _STEP.unpack_from(body, start)
        observation = dict(_arrays(spec.observations, body, start + _STEP.size))
        answers[slot] = Step(reward, observation, terminated, truncated, success)
        start += _STEP.size + _size(spec.observations)
    for slot, what in head["faults"].items():
        answers[int(slot)] = EnvironmentFault(what)
    return answers


def _observation(spec: TaskSpec, arrays: Arrays) -> list[bytes]:
    return [arrays[tensor.name].tobytes() for tensor in spec.observations]


def _arrays(
    tensors: Sequence[TensorSpec], body: memoryview, start: int
) -> Iterator[tuple[str, Any]]:
    for tensor in tensors:
        flat = np.frombuffer(body, tensor.dtype, tensor.size, start)
        yield tensor.name, flat.reshape(tensor.shape)
        start += tensor.row_bytes


def _size(tensors: Sequence[TensorSpec]) -> int:
    return sum(tensor.row_bytes for tensor in tensors)

"""How we talk to workers of our own: frames over a socket pair.

A frame is two lengths (uint32, big-endian), a JSON head (none where it is empty) and a
binary body. Both ends are ours. Numbers of episodes do not travel in frames but stand on
the board, so that no float loses a bit.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from env_adapters import Cell
from glue_server.environment.shared_memory import SharedArrays
from reglue.messages.agent import Phase
from reglue.messages.environment import Play

_LENGTHS = struct.Struct(">II")


def write_frame(channel: socket.socket, head: Mapping[str, Any], body: bytes = b"") -> None:
    """Send one frame, whole. Raises OSError if the other end is gone."""
    text = json.dumps(head).encode() if head else b""
    channel.sendall(_LENGTHS.pack(len(text), len(body)) + text + body)


def read_frame(channel: socket.socket) -> tuple[dict[str, Any], memoryview]:
    """Wait for one frame. Raises EOFError or OSError if the other end is gone."""
    text_bytes, body_bytes = _LENGTHS.unpack(_read(channel, _LENGTHS.size))
    rest = _read(channel, text_bytes + body_bytes)
    head: dict[str, Any] = json.loads(bytes(rest[:text_bytes])) if text_bytes else {}
    return head, rest[text_bytes:]


def write_play(channel: socket.socket, play: Play) -> None:
    """Ask for a Play whose actions are on the board. Raises OSError if the worker is gone."""
    starts = [
        (slot, cell.task, cell.variant, cell.seed, cell.repeat, int(cell.phase), cell.steps)
        for slot, cell in play.starts.items()
    ]
    write_frame(channel, {"starts": starts} if starts else {}, play.slots.tobytes())


def read_play(channel: socket.socket, board: SharedArrays) -> Play:
    """Wait for what is to be played. Raises EOFError or OSError if the pool is gone."""
    head, body = read_frame(channel)
    slots = np.frombuffer(body, np.uint32)
    starts = {
        slot: Cell(task, variant, seed, repeat, Phase(phase), steps)
        for slot, task, variant, seed, repeat, phase, steps in head.get("starts", ())
    }
    return Play(slots, board.actions(slots), starts)


def _read(channel: socket.socket, size: int) -> memoryview:
    buffer = memoryview(bytearray(size))
    filled = 0
    while filled < size:
        received = channel.recv_into(buffer[filled:])
        if not received:
            raise EOFError("the other end closed")
        filled += received
    return buffer

"""How we talk to processes of our own: frames over a socket pair.

A frame is two lengths (uint32, big-endian), a JSON head and a binary body. Both ends are
ours. Numbers of episodes travel in bodies, as messages of the protocol, so that no float
loses a bit.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

_LENGTHS = struct.Struct(">II")


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

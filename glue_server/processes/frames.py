"""How processes of ours talk to each other: frames over a socket pair.

A frame is two lengths (uint32, big-endian), a JSON head (none where it is empty) and a
binary body. Both ends are ours.
"""

from __future__ import annotations

import json
import select
import socket
import struct
from collections.abc import Mapping
from typing import Any

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


def read_frame_bytes(channel: socket.socket) -> bytes:
    """Wait for one frame, to pass it on as it is. Raises EOFError or OSError."""
    lengths = bytes(_read(channel, _LENGTHS.size))
    return lengths + bytes(_read(channel, sum(_LENGTHS.unpack(lengths))))


def is_readable(channel: socket.socket) -> bool:
    """Whether a frame has begun to come, or the end. Also beyond descriptor 1023, unlike select."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    return bool(poll.poll(0))


def unknown_frame(head: Mapping[str, Any]) -> AssertionError:
    """For a frame that its reader does not know: a mistake of ours, or ends of two versions."""
    got = ", ".join(head) or "no head"
    return AssertionError(
        f"got a frame of {got}, wanted one that this process knows: are both ends of one version?"
    )


def _read(channel: socket.socket, size: int) -> memoryview:
    buffer = memoryview(bytearray(size))
    filled = 0
    while filled < size:
        received = channel.recv_into(buffer[filled:])
        if not received:
            raise EOFError("the other end closed")
        filled += received
    return buffer

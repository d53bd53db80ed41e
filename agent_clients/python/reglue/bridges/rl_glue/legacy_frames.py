"""RL-Glue 3's frames: two big-endian int32, a code and the size of the content; the content.

Sources: Tanner, "RL-Glue 3.0 Codec Development", 2009; for what that does not define, the hub
rl_glue 3.04.
"""

from __future__ import annotations

import enum
import select
import socket
import struct
import time

from reglue.errors import BadReply

MOST_TEXT = 1 << 20
"""The most bytes of a message or task spec string."""

DEFAULT_PORT = 4096

INT, DOUBLE = struct.Struct("!i"), struct.Struct("!d")

_HEAD = struct.Struct("!ii")
_AT_ONCE = 1 << 16  # bytes


class Code(enum.IntEnum):
    """The first number of a frame. An answer has the code of its call."""

    EXPERIMENT_CONNECTION = 1
    AGENT_CONNECTION = 2
    ENVIRONMENT_CONNECTION = 3
    AGENT_INIT = 4
    AGENT_START = 5
    AGENT_STEP = 6
    AGENT_END = 7
    AGENT_CLEANUP = 8
    AGENT_MESSAGE = 10
    ENV_INIT = 11
    ENV_START = 12
    ENV_STEP = 13
    ENV_CLEANUP = 14
    ENV_MESSAGE = 19
    RL_INIT = 20
    RL_START = 21
    RL_STEP = 22
    RL_CLEANUP = 23
    RL_RETURN = 24
    RL_NUM_STEPS = 25
    RL_NUM_EPISODES = 26
    RL_EPISODE = 27
    RL_AGENT_MESSAGE = 33
    RL_ENV_MESSAGE = 34
    TERMINATE = 35


def code_name(code: int) -> str:
    """`env_step`, or `code 77` for one that is unknown."""
    known = Code.__members__.values()
    return Code(code).name.lower() if code in {*known} else f"code {code}"


class Connection:
    """Frames over a socket, which it owns."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        if end.family != socket.AF_UNIX:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.setblocking(False)  # a timeout of the socket's own costs a system call each time
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(end, select.POLLIN)
        self._writable.register(end, select.POLLOUT)
        self._received = bytearray()  # beyond the last frame

    def send(self, code: int, content: bytes, within_s: float) -> None:
        """Send one frame. Raises OSError; TimeoutError if it takes too long."""
        until = time.monotonic() + within_s
        rest = memoryview(_HEAD.pack(code, len(content)) + content)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                _wait(self._writable, until)

    def receive(self, most: int, within_s: float) -> tuple[int, bytes]:
        """The code and the content of the next frame, which has at most `most` bytes.

        Raises BadReply for another size; EOFError if the connection ended before the frame began;
        OSError otherwise, TimeoutError if the whole frame has not arrived in time.
        """
        received, until = self._received, time.monotonic() + within_s
        while len(received) < _HEAD.size:
            self._receive_more(_HEAD.size, until)
        code, size = _HEAD.unpack_from(received)
        if not 0 <= size <= most:
            got = f"{code_name(code)} of {size} bytes"
            raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {most}")
        end = _HEAD.size + size
        while len(received) < end:
            self._receive_more(end, until)
        content = bytes(received[_HEAD.size : end])
        del received[:end]
        return code, content

    def wait(self, within_s: float) -> bool:
        """Wait until a frame begins or the connection ends. Raises OSError.

        False if neither happens within `within_s`.
        """
        if self._received:
            return True
        try:
            _wait(self._readable, time.monotonic() + within_s)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _receive_more(self, size: int, until: float) -> None:
        """Wait for more of the first `size` bytes, and receive what has come."""
        _wait(self._readable, until)
        try:
            more = self._socket.recv(_AT_ONCE)
        except BlockingIOError:
            return
        if more:
            self._received += more
        elif there := len(self._received):
            raise ConnectionError(f"the connection ended after {there} of {size} bytes")
        else:
            raise EOFError("the connection ended")


def _wait(events: select.poll, until: float) -> None:
    """Wait for an event of a socket. Raises TimeoutError."""
    left_s = until - time.monotonic()
    if not events.poll(max(0.0, 1e3 * left_s)):
        raise TimeoutError


def text_bytes(text: str) -> bytes:
    """A text in a frame: its size in bytes, int32, then UTF-8."""
    encoded = text.encode()
    return INT.pack(len(encoded)) + encoded


def text_of(content: bytes) -> str:
    """The text that is the whole content of a frame. Invalid UTF-8 becomes U+FFFD.

    Raises BadReply.
    """
    size = INT.unpack_from(content)[0] if len(content) >= INT.size else -1
    if size != len(content) - INT.size:
        got = f"a text of {size} bytes in {len(content)}"
        raise BadReply("WRONG_SIZE", got=got, wanted="its size, 4 bytes, and that many")
    return content[INT.size :].decode("utf-8", "replace")

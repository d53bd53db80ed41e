"""RL-Glue 3's frames: two big-endian int32, a code and the size of the content; the content.

Sources: Tanner, "RL-Glue 3.0 Codec Development", 2009; for what that does not define, the hub
rl_glue 3.04.
"""

from __future__ import annotations

import enum
import socket
import struct
import time

from reglue.errors import BadReply

MOST_TEXT = 1 << 20
"""The most bytes of a message or task spec string."""

DEFAULT_PORT = 4096

INT, DOUBLE = struct.Struct("!i"), struct.Struct("!d")

_HEAD = struct.Struct("!ii")
_HEADER = "a header"


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

    def send(self, code: int, content: bytes, within_s: float) -> None:
        """Send one frame. Raises OSError; TimeoutError if it takes too long."""
        self._socket.settimeout(within_s)
        self._socket.sendall(_HEAD.pack(code, len(content)) + content)

    def receive(self, most: int, within_s: float) -> tuple[int, bytes]:
        """The code and the content of the next frame, which has at most `most` bytes.

        Raises BadReply for another size; EOFError if the connection ended before the frame began;
        OSError otherwise, TimeoutError if the whole frame has not arrived in time.
        """
        until = time.monotonic() + within_s
        code, size = _HEAD.unpack(self._read(_HEAD.size, until, _HEADER))
        if not 0 <= size <= most:
            got = f"{code_name(code)} of {size} bytes"
            raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {most}")
        return code, bytes(self._read(size, until, code_name(code)))

    def wait(self, within_s: float) -> bool:
        """Wait until a frame begins or the connection ends. Raises OSError.

        False if neither happens within `within_s`.
        """
        self._socket.settimeout(within_s)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read(self, size: int, until: float, what: str) -> memoryview:
        buffer, filled = memoryview(bytearray(size)), 0
        while filled < size:
            self._socket.settimeout(max(1e-3, until - time.monotonic()))
            received = self._socket.recv_into(buffer[filled:])
            if not received and not filled and what == _HEADER:
                raise EOFError("the connection ended")
            if not received:
                raise ConnectionError(
                    f"the connection ended after {filled} of {size} bytes, {what}"
                )
            filled += received
        return buffer


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

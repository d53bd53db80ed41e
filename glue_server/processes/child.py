"""Processes of our own: a parent's children, a child's parent, and the channel between them.

What a child is to do comes over an inherited socket, never on its command line or in its
environment, where other processes could read it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Generic, NoReturn, Protocol, TypeVar

from glue_server.processes.children import (
    death_words,
    die_with,
    end_all,
    leave_after,
    parent_to_die_with,
    python_path,
)
from glue_server.processes.interrupts import ignore_ctrl_c, stop_play
from glue_server.processes.message_codec import LENGTHS, Codec, encoded
from glue_server.processes.readable import readable

M = TypeVar("M")

_SILENCE_S = 60.0
_STDERR = 2


class Channel(Generic[M]):
    """One end of a socket pair over which messages go. Closing it ends the process there."""

    def __init__(
        self, end: socket.socket, codec: Codec[M], *, silence_s: float | None = _SILENCE_S
    ) -> None:
        """`codec` decodes what is received.

        Within a message nothing may come or go for `silence_s`. None for a child: its parent closes
        the channel when it ends.
        """
        end.settimeout(silence_s)
        self.socket = end
        self._codec = codec
        self._sending = threading.Lock()

    def fileno(self) -> int:
        """Its descriptor, to be polled; negative once it is closed."""
        return self.socket.fileno()

    def send(self, message: object) -> None:
        """Send one message, whole; any thread may. Raises OSError if the other end is gone.

        A message that was sent in part ends the channel: nothing can follow it.
        """
        rest = memoryview(encoded(message))
        with self._sending:
            try:
                while rest:  # not sendall: its time limit is one for the whole message
                    rest = rest[self.socket.send(rest) :]
            except BaseException:
                with contextlib.suppress(OSError):
                    self.socket.shutdown(socket.SHUT_RDWR)
                raise

    def receive(self, within_s: float | None = None) -> M:
        """Wait for one message, which begins to come `within_s`, or before it is silent too long.

        Raises EOFError or OSError if the other end is gone, TimeoutError, an OSError, if it is
        late, and UnknownMessage.
        """
        if self.fileno() < 0:
            raise EOFError("this end is closed")
        if within_s is not None and not readable([self], within_s):
            raise TimeoutError(f"no message came within {within_s:g} s")
        head_bytes, body_bytes = LENGTHS.unpack(self._read(LENGTHS.size))
        rest = self._read(head_bytes + body_bytes)
        return self._codec.decode(rest[:head_bytes], rest[head_bytes:])

    def receive_bytes(self) -> bytes:
        """As `receive`, but the message is passed on as it is: nothing is decoded."""
        lengths = bytes(self._read(LENGTHS.size))
        return lengths + bytes(self._read(sum(LENGTHS.unpack(lengths))))

    def has_message(self) -> bool:
        """Whether a message has begun to come, or the other end is gone."""
        return bool(readable([self], 0.0))

    def leave(self) -> None:
        """Close it, which ends the process at the other end."""
        with contextlib.suppress(OSError):  # it is gone already
            self.socket.shutdown(socket.SHUT_RDWR)  # also if a thread reads it
        self.socket.close()

    def _read(self, size: int) -> memoryview:
        buffer = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            received = self.socket.recv_into(buffer[filled:])
            if not received:
                raise EOFError("the other end closed")
            filled += received
        return buffer


class Child(Channel[M]):
    """A process that runs `python -P -m MODULE FD PARENT`, and the parent's end of its channel.

    It starts at once; no file of the working directory replaces a module. It does not outlive this
    process: see `parent_to_die_with`.
    """

    def __init__(
        self,
        module: str,
        codec: Codec[M],
        *,
        silence_s: float | None = _SILENCE_S,
        thread_stays: bool = False,
        log_file: Path | None = None,
        prints_to_stderr: bool = False,
    ) -> None:
        """`thread_stays` is as of `parent_to_die_with`. What it prints is appended to `log_file`.

        `silence_s` is as of a Channel. With `prints_to_stderr` standard output is left to this
        process.
        """
        ours, theirs = socket.socketpair()
        super().__init__(ours, codec, silence_s=silence_s)
        if log_file:
            log_file.touch(mode=0o600)
        with theirs, contextlib.ExitStack() as closing:
            log = closing.enter_context(log_file.open("ab")) if log_file else None
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", module, str(theirs.fileno())),
                    str(parent_to_die_with(thread_stays=thread_stays)),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log or (_STDERR if prints_to_stderr else None),
                stderr=log,
                env=os.environ | python_path(),
                start_new_session=True,  # Ctrl-C is ours to hear
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def death(self, within_s: float) -> str:
        """Its end, in words. A process that sent nothing more may take so long to exit."""
        return death_words(self._process, within_s)

    def end(self, within_s: float) -> None:
        """Wait until it exits; kill it after that time."""
        end_all([self._process], within_s=within_s)


class _Ending(Protocol):
    def end(self, within_s: float) -> None:
        """Wait until it has ended; kill it after that time."""


def end_together(children: Iterable[_Ending], *, within_s: float) -> None:
    """Wait for children that are leaving, all at once; kill those that are there after that."""
    deadline = time.monotonic() + within_s
    for child in children:
        child.end(max(0.0, deadline - time.monotonic()))


def inherited_channel(codec: Codec[M], *, listens: bool = True) -> Channel[M]:
    """In a child: the channel to its parent, to which it is bound from now on.

    One that `listens` receives at all times, as `Parent` does, and leaves by itself once its parent
    has gone. Another one ends with its parent, whatever it does.
    """
    channel, parent = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    if listens:
        ignore_ctrl_c()
        die_with(parent, signal.SIGCONT)  # it may be stopped
    elif parent:
        die_with(parent)
    else:
        leave_after(channel)
    del sys.argv[1:]  # a user's module may parse it
    return Channel(channel, codec, silence_s=None)


class ParentGone(Exception):
    """Nobody reads the channel any more."""


class Parent(Generic[M]):
    """A child's parent: a thread receives its messages.

    Once it has gone play ends, and this process may take `leave_s` to leave, whatever an agent or
    environment is doing.
    """

    def __init__(self, channel: Channel[M], *, leave_s: float) -> None:
        self._channel = channel
        self._leave_s = leave_s
        self._received: SimpleQueue[M | None] = SimpleQueue()  # None: there is nothing more
        threading.Thread(target=self._listen, name="reglue-parent", daemon=True).start()

    def send(self, message: object) -> None:
        """Send one message; any thread may. Raises ParentGone."""
        try:
            self._channel.send(message)
        except OSError as error:
            raise ParentGone from error

    def receive(self, within_s: float | None = None) -> M:
        """Wait for the next message, without a limit as long as the parent is there.

        Raises ParentGone, also if nothing comes `within_s`.
        """
        try:
            message = self._received.get(timeout=within_s)
        except Empty:
            raise ParentGone(f"no message came within {within_s:g} s") from None
        if message is None:
            self._received.put(None)  # for who asks next
            raise ParentGone
        return message

    def take(self, message: M) -> None:
        """Keep a message for `receive`. Raises EOFError after the last."""
        self._received.put(message)

    def _listen(self) -> None:
        try:
            while True:
                self.take(self._channel.receive())
        except (EOFError, OSError):
            pass
        except Exception:  # noqa: BLE001 - the edge of a thread: a message that nobody here knows
            traceback.print_exc()
        self._received.put(None)
        stop_play()
        threading.Timer(self._leave_s, os._exit, (1,)).start()


def exit_after(play: Callable[[], None]) -> NoReturn:
    """In a child: call `play`, and exit at once, also while threads run.

    An error of `play` is printed; that its parent has gone, or interrupts it, is none.
    """
    code = 1
    try:
        with contextlib.suppress(ParentGone, KeyboardInterrupt):
            play()
        code = 0
    except Exception:  # noqa: BLE001 - the edge of a process
        traceback.print_exc()
    os._exit(code)

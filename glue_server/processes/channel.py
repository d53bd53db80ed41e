"""A child process that talks to its parent over an inherited socket.

What it is to do comes over the socket, never on its command line or in its environment, where
other processes could read it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

from glue_server.processes.children import (
    death_words,
    die_with,
    end_all,
    parent_to_die_with,
    python_path,
)


class ChannelProcess:
    """The parent's end: starts `python -P -m MODULE FD PARENT` at once: no file of the working
    directory replaces a module.

    `thread_stays` is as of `parent_to_die_with`. Closing the channel ends the child.
    """

    def __init__(self, module: str, *, thread_stays: bool = False) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", module, str(theirs.fileno())),
                    str(parent_to_die_with(thread_stays=thread_stays)),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
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

    def leave(self) -> None:
        """Close the channel, which ends the process."""
        with contextlib.suppress(OSError):  # it is gone already
            self.channel.shutdown(socket.SHUT_RDWR)  # also where a thread reads it
        self.channel.close()

    def death(self, within_s: float) -> str:
        """How it ended, in words. One that said nothing more may take so long to exit."""
        return death_words(self._process, within_s)

    def end(self, within_s: float) -> None:
        """Wait until it exits; kill it after that time."""
        end_all([self._process], within_s=within_s)


def inherited_channel() -> socket.socket:
    """In the child: the socket that it was given, from now on bound to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=int(sys.argv[1]))
    die_with(int(sys.argv[2]), signal.SIGCONT)  # who reads the channel ends it then
    del sys.argv[1:]  # a user's module may parse it
    return channel

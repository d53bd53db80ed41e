"""Processes that this one starts: none of them outlives it, and all end together.

`python children.py PARENT COMMAND…` becomes COMMAND, bound to the process PARENT. It needs
Python's standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Collection, Sequence

_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
_KILL_S = 5.0  # how long the kernel may take to end what was killed
_LEAVE_S = 5.0  # for a child that sees its parent gone, and is busy


def python_path() -> dict[str, str]:
    """The environment's entry by which a child can import what this process can.

    Python's own modules come first: no file of a user's folder replaces one.
    """
    own = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    places = [*filter(None, sys.path)]
    first = [each for each in places if each.startswith(own) and not each.endswith("-packages")]
    return {
        "PYTHONPATH": os.pathsep.join([*first, *(each for each in places if each not in first)])
    }


def parent_to_die_with(*, thread_stays: bool = False) -> int:
    """For a child's command line: its parent's id, 0 if `die_with` cannot watch that.

    The kernel watches the thread that starts a child: the main thread, or one of which the
    caller says that it stays as long as the process does.
    """
    stays = thread_stays or threading.current_thread() is threading.main_thread()
    return os.getpid() if sys.platform == "linux" and stays else 0


def die_with(parent: int, sent: signal.Signals = signal.SIGKILL) -> None:
    """In a child: be killed when `parent` ends, even while this hangs or is stopped.

    `sent` SIGCONT for a child that leaves by itself as long as it is not stopped.
    """
    if parent == 0:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, sent, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel knew
        os._exit(1)


def leave_after(channel: socket.socket) -> None:
    """In a child: leave soon after the other end of `channel` closes, even from a long step."""
    threading.Thread(target=_leave_after, args=(channel.fileno(),), daemon=True).start()


def bound(command: Sequence[str]) -> list[str]:
    """`command`, which is killed when this process ends: on Linux, from the main thread."""
    parent = parent_to_die_with()
    if parent == 0:
        return list(command)
    return [sys.executable, "-I", "-S", __file__, str(parent), *command]


def end_all(processes: Collection[subprocess.Popen[bytes]], *, within_s: float) -> None:
    """Wait for children that are leaving, all at once; kill those that are there after that.

    One that waits for a device, which nobody can kill, is left to the system.
    """
    deadline = time.monotonic() + within_s
    for process in processes:
        try:
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_KILL_S)


def death_words(process: subprocess.Popen[bytes], within_s: float) -> str:
    """The end of a child that sent nothing more, in words. It may take so long to exit."""
    try:
        return exit_words(process.wait(within_s))
    except subprocess.TimeoutExpired:
        return "it fell silent"


def exit_words(code: int) -> str:
    """An exit code in words; it is negative if a signal ended the process.

    128 and a signal's number is how sandboxes and shells tell how their program ended.
    """
    if code >= 0:
        name = f" ({_signal_name(code - 128)})" * (code - 128 in set(signal.Signals))
        return f"exit code {code}{name}"
    wants_memory = ", perhaps for want of memory" * (-code == signal.SIGKILL)
    return f"killed by {_signal_name(-code)}{wants_memory}"


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _leave_after(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups are always told
    poll.poll()
    time.sleep(_LEAVE_S)
    os._exit(1)


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])

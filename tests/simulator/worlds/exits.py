"""The end of a command's process: its exit code, and the time since Ctrl-C."""

from __future__ import annotations

from glue_server.commands.command import FAULTS, INTERRUPTED, OK
from glue_server.processes.interrupts import CLOSING_S
from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.virtual_files import Disk

_KILLED = -9
_ENDS_S = CLOSING_S + 1.6  # after Ctrl-C: waits look every 0.2 s, and a message takes a while


def check_exit(run: Scheduler, process: Process, *, may_fail: bool = False) -> None:
    """Note a violation if its exit code is not the documented one, or came too late.

    A command that `may_fail` may end with faults.
    """
    disk, kinds = run.own(Disk), {kind for _, kind in process.hits}
    interrupts = [at for at, kind in process.hits if kind.startswith("interrupt")]
    was_full, was_slow = disk.full_until > process.began, disk.slow_until > process.began
    expected = {
        OK: True,
        FAULTS: was_full or may_fail,
        INTERRUPTED: bool(interrupts),
        _KILLED: "kill" in kinds,
    }
    if not expected.get(process.exit_code or 0):
        run.violate(f"{process.name} ended with exit code {process.exit_code}")
    if interrupts and not was_slow and "stop" not in kinds and process.exit_code != _KILLED:
        took_s = run.now - interrupts[0]
        if took_s > _ENDS_S:
            run.violate(f"{process.name} ended {took_s:.1f} s after Ctrl-C")

"""The common part of all tries: a short run, its undisturbed rows, and the way to finish it."""

from __future__ import annotations

import functools
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reglue_bench.results.result import read_result
from tests.reglue_bench.benching import Command, bench_words, commanded
from tests.reglue_bench.toys import rows

_PAUSE_S = 0.01  # of a step: a run takes about two seconds, and most of them can be hit
_KINDS = {
    "worker": b"glue_server.environment.worker",
    "agent": b"\0join\0",
}  # words of their commands
_ENOUGH = 20  # resumptions after which a run is thought never to end


class Broken(Exception):
    """Something did not hold: what."""


def sqlite_text(folder: Path, *more: str, agent: str = "Seeded") -> list[str]:
    """A run of 30 episodes, in two workers."""
    return bench_words(folder, "Slow", "--workers", "2", *more, agent=agent, pause_s=_PAUSE_S)


@functools.cache
def undisturbed() -> list[tuple[Any, ...]]:
    """The rows of such a run; it is played once."""
    with tempfile.TemporaryDirectory(prefix="reglue-chaos-") as folder:
        return rows(read_result(finished(Path(folder, "run"))))


def finished(folder: Path) -> Path:
    """A run that nobody disturbs, to its end."""
    with commanded(sqlite_text(folder)) as command:
        check_exit(command, {0})
    return folder


def check_exit(command: Command, codes: set[int]) -> str:
    """Wait for its end, and for its children's; what it said. Raises Broken."""
    code, said = command.ended()
    if code not in codes:
        raise Broken(f"got exit code {code}, wanted one of {sorted(codes)}: {last(said)}")
    if "Traceback" in said:
        raise Broken(f"a traceback: {last(said)}")
    if left := command.left_behind():
        raise Broken(f"processes are left behind: {sorted(left)}")
    return said


def check_rows(folder: Path) -> None:
    """Raise Broken unless the run, resumed as often as it takes, has the undisturbed rows."""
    wanted = undisturbed()
    for _ in range(_ENOUGH):
        with commanded(["bench", "--resume", str(folder), "--retry-faults"]) as command:
            code, said = command.ended()
        if code == 2 and ("holds no run" in said or "no such folder" in said):  # killed before it
            with commanded(sqlite_text(folder)) as command:
                code, said = command.ended()
        if code == 0:
            break
    else:
        raise Broken(f"--resume never ends: {last(said)}")
    if (got := rows(read_result(folder))) != wanted:
        raise Broken(f"got rows {sorted({*got} ^ {*wanted})[:4]} that differ")


def wait_for_play(command: Command) -> None:
    """Until it plays. Raises Broken unless each kind of process is there, to be disturbed."""
    command.wait_for("0 of 30 episodes are done")
    if missing := [kind for kind in _KINDS if not processes(command, kind)]:
        raise Broken(f"got a run without {' or '.join(missing)}")


def processes(command: Command, kind: str) -> list[int]:
    """Those of a run: `run`, itself; `worker`; or `agent`."""
    if kind == "run":
        return [command.process.pid]
    found = []
    for child in _children(command.process.pid):
        with suppress(OSError):
            if _KINDS[kind] in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def _children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from _children(child)


def send(pid: int, number: int) -> None:
    """A signal, to who may be gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def free_address() -> str:
    """Of loopback, that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def dialled_in(folder: Path, address: str, way: str) -> Iterator[Command]:
    """A run at `address`, and an agent that comes by `way`."""
    listening = [
        "--listen",
        address,
        "--token",
        "secret",
        "--reconnect-window",
        "60",
        "--transport",
        "grpc",
    ]
    joining = ["join", sqlite_text(folder)[3], "--address", way, "--token", "secret"]
    with (
        commanded([*joining, "--transport", "grpc"]),  # first: it is none of the run's children
        commanded(sqlite_text(folder, *listening, agent="wait")) as run,
    ):
        run.wait_for("0 of 30 episodes are done")
        yield run


def last(said: str) -> str:
    """The end of it."""
    return said[-2000:]

"""`reglue bench` over a corridor, as a process that a test disturbs."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reglue_bench.results.result import read_result
from tests.leftovers import child_processes
from tests.reglue_bench.toys import AGENTS, rows

PATIENCE_S = 100.0  # after which a test fails: machines are shared
WORLDS = Path(__file__).parents[1] / "worlds.py"


def bench_words(
    folder: Path, world: str, *more: str, agent: str = "Seeded", episodes: int = 30, **config: Any
) -> list[str]:
    """A run of `world` of tests/worlds.py, `episodes` of 5 steps, two at once."""
    config = {"solved": {"walk": [0, 3, 0]}} | config
    words = ["bench", f"multi-task:{WORLDS}:{world}", "--agent"]
    words.append(agent if agent == "wait" else f"{AGENTS}:{agent}")
    for name, value in config.items():
        words += ["--environment-arg", f"{name}={json.dumps(value)}"]
    words += ["--num-episodes", str(episodes), "--slots", "2", "--out", str(folder)]
    return words + list(more)


class Command:
    """A command under way. What its processes leave behind comes to this process."""

    def __init__(self, words: list[str]) -> None:
        self._before = child_processes()
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "reglue", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        self._killer = threading.Timer(PATIENCE_S, self.process.kill)
        self._killer.start()

    def wait_for(self, words: str) -> None:
        """Read on until it says that."""
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            heard.append(line)
            if words in line:
                return
        raise AssertionError(f"it ended without {words!r}:\n" + "".join(heard))

    def ended(self) -> tuple[int, str]:
        """Its exit code, and what it said since."""
        assert self.process.stdout is not None
        said = self.process.stdout.read()
        return self.process.wait(), said

    def left_behind(self, within_s: float = 20.0) -> set[int]:
        """Processes that it began and that are still there, after a while."""
        deadline = time.monotonic() + within_s
        while left := self._orphans():
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return left

    def close(self) -> None:
        """End what is still there."""
        self._killer.cancel()
        self._killer.join()
        with self.process:
            self.process.kill()
        for pid in self._orphans():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _orphans(self) -> set[int]:
        orphans = child_processes() - self._before - {self.process.pid}
        return {pid for pid in orphans if os.waitpid(pid, os.WNOHANG) == (0, 0)}


@contextmanager
def commanded(words: list[str]) -> Iterator[Command]:
    """`reglue …` while it runs."""
    with orphans_come_here():
        command = Command(words)
        try:
            yield command
        finally:
            command.close()


@contextmanager
def orphans_come_here() -> Iterator[None]:
    """Descendants whose parent dies become children of this process."""
    prctl, set_subreaper, get_subreaper = ctypes.CDLL(None).prctl, 36, 37
    before = ctypes.c_int()
    prctl(get_subreaper, ctypes.byref(before), 0, 0, 0)
    prctl(set_subreaper, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(set_subreaper, before.value, 0, 0, 0)


def resumed_rows(folder: Path, *more: str) -> list[tuple[Any, ...]]:
    """Those of a run that is played to its end by `--resume`."""
    with commanded(["bench", "--resume", str(folder), *more]) as command:
        code, said = command.ended()
    assert code == 0, said
    return rows(read_result(folder))

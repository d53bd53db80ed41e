"""Submissions over the corridor, and agents that play them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from env_adapters import Cell
from reglue import Agent, connect
from reglue.net.join_string import JoinString
from reglue.spec import Arrays
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.evaluation import carry_out
from reglue_bench.results.scoring import read_run
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, begin
from reglue_bench.settings import Settings
from reglue_competition.runs.submission import (
    Listening,
    SubmissionProcess,
    SubmissionSettings,
    SubmittedBenchmark,
    run_folder,
)
from tests.reglue_bench.remote import joining
from tests.reglue_bench.toys import AGENTS, rows
from tests.waiting import PATIENCE_S, until
from tests.worlds import Corridor, Walk

CORRIDOR = {"solved": {"a": [1, 3, 0], "b": [5, 0, 2]}}
SECRET = "a phase has a secret of its own, which is long"
KEY = Ed25519PrivateKey.generate()

N = TypeVar("N")


def settings(world: str = "Corridor", **more: Any) -> Settings:
    """A benchmark's of a phase."""
    fields: dict[str, Any] = {
        "benchmark": f"multi-task:tests.worlds:{world}",
        "environment_args": CORRIDOR,
        "num_episodes": 6,
        "slots": 2,
        "workers": 0,
        "secret": SECRET,
        "agent": "wait",
        "sandbox": "none",
        "keep_rewards": True,
    }
    return Settings(**(fields | more))


def told(
    folder: Path, *played: Settings, submission: str = "one", **more: Any
) -> SubmissionSettings:
    """The settings of a submission's process, in `folder`."""
    benchmarks = tuple(
        SubmittedBenchmark(each.model_dump(mode="json"), make_plan(each).to_json())
        for each in played
    )
    transcripts = folder / "transcripts"
    transcripts.mkdir(parents=True, exist_ok=True)
    fields: dict[str, Any] = {
        "competition": "test",
        "phase": "public",
        "team": "us",
        "submission": submission,
        "draw": 0,
        "folder": str(folder),
        "transcripts": str(transcripts),
        "public_key": KEY.public_key().public_bytes_raw(),
        "benchmarks": benchmarks,
        "reconnect_window_s": 30.0,
        "connect_timeout_s": PATIENCE_S,
    }
    return SubmissionSettings(**(fields | more))


@contextmanager
def playing(what: SubmissionSettings) -> Iterator[SubmissionProcess]:
    """A submission's process, which listens."""
    process = SubmissionProcess(what, KEY.sign)
    try:
        heard(process, Listening)
        yield process
    finally:
        process.leave()
        process.end(10.0)


def heard(process: SubmissionProcess, kind: type[N]) -> N:
    """Wait for news of that kind; those before it are dropped."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for news in process.news():
            if isinstance(news, kind):
                return news
        assert not process.is_silent(), f"it ended without {kind.__name__}"
        time.sleep(0.01)
    raise AssertionError(f"no {kind.__name__} came")


@contextmanager
def joined(where: JoinString, agent: Agent, name: str | None = None) -> Iterator[Future[str]]:
    """An agent that plays in a thread, until it is told farewell: the words."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="agent")
    session = thread.submit(connect, agent, str(where), name=name, connect_timeout_s=PATIENCE_S)
    try:
        yield session
    except BaseException:
        thread.shutdown(wait=False)  # it may wait for a queue that nobody looks at any more
        raise
    thread.shutdown()


@contextmanager
def joined_process(where: object, agent: str) -> Iterator[subprocess.Popen[str]]:
    """`reglue join` of one of the tests' agents."""
    process = subprocess.Popen(
        joining(f"{AGENTS}:{agent}", str(where)),
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def alone(folder: Path, agent: Agent, submission: str, *played: Settings) -> list[Any]:
    """The rows that an agent gets when it plays a submission here, by itself."""
    for index, each in enumerate(played):
        request = Request(each, make_plan(each), agent=agent, nonce=f"{submission} {index}")
        there = run_folder(folder, index)
        with begin(there, request) as ledger:
            carry_out(there, ledger, request, NullObserver())
    return of_folder(folder, len(played))


def of_folder(folder: Path, count: int) -> list[Any]:
    """The rows of a submission's runs."""
    return [rows(read_run(run_folder(folder, index))) for index in range(count)]


class Mended(Corridor):
    """A corridor that raises at a start, as long as the file `fuse` has marks: one each time."""

    def __init__(self, *, fuse: str, **corridor: Any) -> None:
        super().__init__(**corridor)
        self.fuse = Path(fuse)

    def world(self) -> Walk:
        return Mending(self)


class Mending(Walk):
    def start(self, cell: Cell) -> Arrays:
        fuse: Path = self._corridor.fuse  # type: ignore[attr-defined]
        if marks := fuse.stat().st_size:
            os.truncate(fuse, marks - 1)
            raise RuntimeError("the door is stuck")
        return super().start(cell)


class Gated(Corridor):
    """A corridor in which nobody starts before the file `gate` is there.

    Until then each of its processes is told by a file beside it.
    """

    def __init__(self, *, gate: str, **corridor: Any) -> None:
        super().__init__(**corridor)
        self.gate = Path(gate)

    def world(self) -> Walk:
        return Waiting(self)


class Waiting(Walk):
    def start(self, cell: Cell) -> Arrays:
        gate: Path = self._corridor.gate  # type: ignore[attr-defined]
        if not gate.exists():
            gate.with_name(f"{gate.name}-{os.getpid()}").touch()
        until(gate.exists, "the gate is open", 200.0)
        return super().start(cell)

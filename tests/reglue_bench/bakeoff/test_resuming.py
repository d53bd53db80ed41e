"""A bake-off that is killed or interrupted goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reglue_bench.results.result import read_result
from tests.reglue_bench.bakeoffs import (
    BENCHMARK,
    TIMEOUT_S,
    agent,
    bake,
    command,
    gated,
    surroundings,
    wait_for_rows,
    write,
)
from tests.reglue_bench.toys import rows
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents' programs import what this process can."""
    monkeypatch.setenv("PYTHONPATH", surroundings()["PYTHONPATH"])


@contextmanager
def baking(path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command, while it runs."""
    with subprocess.Popen(
        command(path, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_after_a_kill_the_rows_are_those_of_an_unbroken_bakeoff(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tables = [gated("first", gate, after=99), gated("second", gate, after=6), agent("third")]
    path = write(tmp_path, *tables)
    out = tmp_path / "out"
    with baking(path) as process:
        committed = wait_for_rows(out / "second", 1)
        process.kill()
        process.wait(TIMEOUT_S)
    assert 0 < committed < 12
    assert not (out / "second" / "result.json").exists()
    finished = (out / "first" / "agent.log").read_bytes()
    gate.touch()
    words = command(path, where="--resume")
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (out / "first" / "agent.log").read_bytes() == finished  # it was not started again
    unbroken = tmp_path / "unbroken"
    unbroken.mkdir()
    for name, whole in bake(write(unbroken, *tables)).items():
        after = read_result(out / name)
        assert rows(after) == rows(whole)
        assert after.plan_sha256 == whole.plan_sha256
    assert (out / "second" / "agent.log").read_text().count("made") == 2


@pytest.mark.parametrize(
    ("stop", "more", "agents"),
    [
        (signal.SIGINT, {}, 1),
        (signal.SIGTERM, {"at_once": 2}, 1),
        (signal.SIGINT, {"processes": 2}, 2),
    ],
)
def test_an_interrupted_bakeoff_leaves_with_130_and_goes_on(
    tmp_path: Path, stop: signal.Signals, more: dict[str, Any], agents: int
) -> None:
    gate = tmp_path / "gate"
    benchmark = BENCHMARK.replace("workers = 0", f"workers = 1\nagents = {agents}")
    tables = gated("first", gate, after=6 // agents), gated("second", gate)
    path = write(tmp_path, *tables, gated("third", gate), benchmark=benchmark)
    out = tmp_path / "out"
    logs = [out / name / "agent.log" for name in ("first", "second")]
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in more.items()]
    with baking(path, *flags) as process:
        assert process.stdout is not None
        wait_for_rows(out / "first", 1)
        if "at_once" in more:
            until(
                lambda: all(log.exists() and b"thinks" in log.read_bytes() for log in logs),
                "both agents think",
            )
        process.send_signal(stop)
        said = process.stdout.read()  # though agents think on
        assert process.wait(TIMEOUT_S) == 130, said
    assert f"--resume {out} continues" in said
    assert not (out / "third" / "result.json").exists()  # its turn had not come
    before = read_result(out / "first")
    assert before.ended_early is not None
    assert before.ended_early.status == "interrupted"
    rows_before = rows(before)
    gate.touch()
    after = bake(path, resume=True, **more)
    assert all(result.complete for result in after.values())
    assert {*rows_before} < {*rows(after["first"])}


def test_nothing_is_left_running_after_a_kill(tmp_path: Path) -> None:
    """Every process of the runs inherits the pipe: it ends when the last has gone."""
    gate = tmp_path / "gate"
    path = write(tmp_path, gated("first", gate, after=2), agent("second"))
    reading, writing = os.pipe()
    with subprocess.Popen(
        command(path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[writing],
    ) as process:
        os.close(writing)
        wait_for_rows(tmp_path / "out" / "first", 1)
        process.kill()
    gate.touch()  # the agent looks at its connection again
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""

"""The surroundings of an agent's program: no secrets, no files of the run, a log with an end."""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import UsageError
from reglue_bench.evaluation import resume
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import NullObserver
from tests.error_facts import raises
from tests.leftovers import nothing_left
from tests.reglue_bench.toys import corridor_plan, joining, online_plan, play

LOOKS = """
import os, sys
for name in sorted(os.environ):
    print("variable", name, os.environ[name])
for number in os.listdir("/proc/self/fd"):
    try:
        print("descriptor", number, os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        pass
"""


def looks(folder: Path, code: str = LOOKS, **settings: Any) -> tuple[str, Result]:
    """The output of a program that did so and left, and the result of its run."""
    script = folder / "looks.py"
    script.write_text(code, encoding="utf-8")
    run = folder / "run"
    result = play(run, corridor_plan(), agent_cmd=f"{sys.executable} {script}", **settings)
    return (run / "agent.log").read_text(encoding="utf-8", errors="replace"), result


def test_a_program_is_not_told_the_secrets_of_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REGLUE_SECRET", "TOKEN_OTHER", "REGLUE_TOKEN_FAR", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "the-hosts-own")
    monkeypatch.setenv("CUDA_TOKEN", "the-hosts-own")  # a name that begins like a setting
    printed, _ = looks(tmp_path)
    assert "the-hosts-own" not in printed


def test_a_program_keeps_what_programs_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MUJOCO_GL", "LC_ALL", "JULIA_PROJECT"):
        monkeypatch.setenv(name, "kept")
    printed, _ = looks(tmp_path)
    names = {line.split()[1] for line in printed.splitlines() if line.startswith("variable")}
    assert names >= {"PATH", "HOME", "REGLUE_ADDRESS", "REGLUE_TOKEN"}
    assert printed.count(" kept\n") == 5


def test_a_variable_is_passed_through_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "its own")
    printed, _ = looks(tmp_path, agent_env=["WANDB_API_KEY"])
    assert "variable WANDB_API_KEY its own" in printed


@pytest.mark.parametrize("name", ["NOT_SET_ANYWHERE", "REGLUE_SECRET"])
def test_a_variable_that_cannot_be_passed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("REGLUE_SECRET", "the-hosts-own")
    with raises(UsageError, f"agent_env={name}", settings={"agent_env"}):
        play(tmp_path, corridor_plan(), agent_cmd="true", agent_env=[name])


def test_no_descriptor_of_a_program_leads_to_the_run(tmp_path: Path) -> None:
    printed, _ = looks(tmp_path)
    assert printed.count("descriptor") >= 3
    assert str(tmp_path) not in "".join(
        line for line in printed.splitlines() if line.startswith("descriptor")
    )


def test_what_a_program_prints_is_kept_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may print on for as long as it likes: it is not blocked, and its last words are told."""
    monkeypatch.setattr("glue_server.processes.program.LIMIT_BYTES", 100_000)
    code = "for k in range(100_000): print('line', k)\nprint('the last word')"
    with nothing_left():
        printed, result = looks(tmp_path, code)
    assert 100_000 <= len(printed) < 101_000
    assert "line 7" in printed
    assert "this log is full" in printed
    assert result.ended_early is not None
    assert "the last word" in result.ended_early.what


def test_a_log_that_cannot_be_kept_is_no_fault_of_the_program(tmp_path: Path) -> None:
    """On a full disk its last words are told all the same."""
    run = tmp_path / "run"
    play(run, corridor_plan(), agent_cmd="/bin/sh -c 'seq 9999; echo the last word'")
    (run / "agent.log").unlink()
    (run / "agent.log").symlink_to("/dev/full")
    with nothing_left():
        result = resume(run, NullObserver())
    assert result.ended_early is not None
    assert "left with exit code 0" in result.ended_early.what
    assert "the last word" in result.ended_early.what


def test_children_that_keep_a_log_open_do_not_keep_the_run(tmp_path: Path) -> None:
    """One that left the program's group cannot be found again, and is not waited for."""
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
    )
    with nothing_left():
        printed, _ = looks(tmp_path, code)
    os.kill(int(printed.split()[0]), signal.SIGKILL)  # it is still there


def test_no_terminal_obeys_what_a_program_printed(tmp_path: Path) -> None:
    _, result = looks(tmp_path, r"print('\x1b[2J\x9b31m\x07the last word')")
    assert result.ended_early is not None
    assert result.ended_early.what.endswith("\n[2J31mthe last word")


def test_a_fault_without_a_word_is_told_without_a_heading(tmp_path: Path) -> None:
    _, result = looks(tmp_path, "raise SystemExit(3)")
    assert result.ended_early is not None
    assert "exit code 3" in result.ended_early.what
    assert "agent.log" not in result.ended_early.what


def test_a_fault_is_counted_without_what_was_printed(tmp_path: Path) -> None:
    """A heading whose lines are cut off says nothing."""
    result = play(tmp_path, online_plan(runs=2), agent_cmd=joining("Exits"))
    [fault] = result.faults
    assert fault.count == 2
    assert "exit code 3" in fault.detail
    assert "agent.log" not in fault.detail


def test_only_the_host_may_look_into_a_run(tmp_path: Path) -> None:
    play(tmp_path / "run", corridor_plan(), agent_cmd=joining("Seeded"), workers=1)
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "run").iterdir()}
    assert {"agent.log", "ledger.sqlite", "lock", "result.json", "workers.log"} <= modes.keys()
    assert set(modes.values()) == {0o600}

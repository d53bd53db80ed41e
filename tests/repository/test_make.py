"""`make check` runs each test, and `make test` those that need nothing but Python."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

from tests.repository.pages import ROOT


def dry_run(*words: str) -> list[str]:
    """The lines that make would run, whatever make runs this test."""
    done = subprocess.run(
        ["make", "--dry-run", *words],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.splitlines()


def runs_of_pytest(*targets: str) -> list[list[str]]:
    """The arguments of each run of pytest."""
    commands = [shlex.split(line) for line in dry_run(*targets) if "-m pytest" in line]
    return [command[command.index("pytest") + 1 :] for command in commands]


def values(arguments: list[str], option: str) -> list[str]:
    return [b for a, b in itertools.pairwise(arguments) if a == option]


def folders(arguments: list[str]) -> list[str]:
    """Those whose tests alone are run."""
    ignored = values(arguments, "--ignore")
    return [each for each in arguments if (ROOT / each).exists() and each not in ignored]


def test_make_check_runs_every_test_once(tmp_path: Path) -> None:
    """Most in one run, and what that ignores in others."""
    # make runs its own recursive lines also in a dry run.
    runs = runs_of_pytest("check", f"CONTAINERS_LOG={tmp_path / 'containers.log'}")
    options = {each for arguments in runs for each in arguments if each.startswith("-")}
    assert options == {"-n", "--dist", "--durations", "--ignore"}
    (whole,) = (arguments for arguments in runs if not folders(arguments))
    ((*same, _, _),) = runs_of_pytest("test")
    assert whole == same
    named = [folder for arguments in runs for folder in folders(arguments)]
    assert sorted(values(whole, "--ignore")) == sorted(named)


def test_make_test_leaves_out_what_has_a_mark_and_nothing_else() -> None:
    (arguments,), (whole,) = runs_of_pytest("test"), runs_of_pytest("test-python")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    marks = settings["tool"]["pytest"]["ini_options"]["markers"]
    names = " or ".join(mark.partition(":")[0] for mark in marks)
    assert values(arguments, "-m") == [f"not ({names})"]
    assert [*arguments[:-1], "not clients"] == whole


def test_make_test_installs_nothing_outside_its_environment() -> None:
    assert re.findall(r"\.ci/\w+", "\n".join(dry_run("--always-make", "test"))) == [".ci/venv"]

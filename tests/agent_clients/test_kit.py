"""The projects of `reglue kit`, as a team goes on with them: the commands of their README.md.

tests/docker carries out the last of the four. Each says how long its commands took.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reglue_bench.kit.language import LANGUAGES, LanguageName
from reglue_bench.kit.writing import write_project
from reglue_bench.results.result import read_result
from tests.agent_clients.client_programs import built
from tests.leftovers import nothing_left

pytestmark = pytest.mark.timeout(900)  # it compiles the client

PATIENCE_S = 120.0
BENCHMARK = ("online:mountain-car", "--runs", "1", "--steps", "300")
ADDRESS = re.compile(r"reglue://[^'\s]+")


class Project:
    """A project, and the commands of its README.md as a shell runs them there."""

    def __init__(self, language: LanguageName, folder: Path) -> None:
        write_project(language, folder)
        self.language = language
        self.folder = folder
        self.took: list[str] = []
        text = (folder / "README.md").read_text(encoding="utf-8")
        self.build, self.rehearse, self.join, self.container = re.findall(
            r"^```sh\n(.+)\n```$", text, re.MULTILINE
        )
        ((whole, less),) = re.findall("^`(.+)` plays all of it, .* add `(.+)` for", text, re.M)
        self.bench = f"{whole} {less}"

    def run(self, name: str, command: str, **more: str) -> str:
        """A command's output, with `more` in its environment. Raises AssertionError if it fails."""
        began = time.monotonic()
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=environment() | more,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        self.took.append(f"{name} {time.monotonic() - began:.1f} s")
        return done.stdout + done.stderr

    @property
    def transcript(self) -> tuple[str, str]:
        """The duration of each command: a property of a test, which pytest's summary shows."""
        return "transcript", f"{self.language}: {', '.join(self.took)}"


def environment() -> dict[str, str]:
    """A team's: `reglue` in its PATH, and nothing of this repository in Python's."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PATH": path}


@contextmanager
def bench(out: Path, *carried_out_by: str) -> Iterator[str]:
    """The join string of a run with TLS, which has ended by itself when the block ends."""
    listening = ("--agent", "wait", "--listen", "127.0.0.1:0", "--tls", "--out", str(out))
    command = [
        *carried_out_by,
        sys.executable,
        "-u",
        "-m",
        "reglue",
        "bench",
        *BENCHMARK,
        *listening,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next(each for each in process.stdout if ADDRESS.search(each))
            yield ADDRESS.search(line)[0]  # type: ignore[index]
            process.stdout.read()
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_project_is_built_rehearses_and_joins(
    tmp_path: Path, language: LanguageName, record_property: Callable[[str, str], None]
) -> None:
    project = Project(language, tmp_path / "project")
    if language in ("c", "julia"):  # the C++ client below them is the one that C++'s project builds
        library = built("cpp", "reglue", "libreglue++.a").parent
        cache = project.folder / "build/CMakeCache.txt"
        cache.parent.mkdir()
        cache.write_text(f"reglue_DIR:PATH={library}\n")
    # Not optimised, which takes half the time: tests/docker builds it as it is.
    project.run("build", project.build, CMAKE_BUILD_TYPE="None")
    assert "ready: reglue bench" in project.run("rehearse", project.rehearse)
    assert re.search(r"performance \W+-\d", project.run("bench", project.bench))
    with nothing_left(), bench(tmp_path / "run") as address:
        project.run("join", project.join.replace("reglue://…", address))
    record_property(*project.transcript)
    result = read_result(tmp_path / "run")
    assert result.complete
    assert not result.faults

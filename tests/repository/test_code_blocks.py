"""The code in README.md and docs/ does what it says.

The blocks of a page are run in order, in one folder: a block with a title is written as that
file, Python and sh without one are run. A block below `<!-- not run: WHY -->` is checked as
far as that goes without what it needs. Commands play at most four runs and episodes.
"""

from __future__ import annotations

import functools
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout, suppress
from importlib.metadata import entry_points
from pathlib import Path
from unittest import mock

import pytest

from glue_server.commands.command import Commands
from tests.repository.pages import Block, blocks, pages

CODE = {"python", "sh", "toml"}


@pytest.mark.parametrize(
    "page", [page for page in pages() if any(b.language in CODE for b in blocks(page))]
)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page)):
        if block.language in CODE:
            perform(block, number, tmp_path)


def test_flags_that_do_not_exist_are_noticed() -> None:
    with pytest.raises(AssertionError, match="--no-such"):
        check_flags("reglue bench MT10 --agent expert --no-such 3")


def perform(block: Block, number: int, folder: Path) -> None:
    """Write the block's file, or run it, or check it."""
    if block.title:
        path = folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    match block.language:
        case "python":
            compile(block.text, block.title or "block", "exec")
            if block.is_run and not block.title:
                script = folder / f"block_{number}.py"
                script.write_text(block.text, encoding="utf-8")
                run([sys.executable, str(script)], folder)
        case "sh":
            check_flags(block.text)
            run(["sh", "-eu" if block.is_run else "-n", "-c", cut(block.text)], folder)
        case "toml":
            tomllib.loads(block.text)


def cut(script: str) -> str:
    """The script, whose counts of runs and episodes are at most four."""
    return re.sub(
        r"(--runs|--episodes|--num-episodes) (\d+)",
        lambda found: f"{found[1]} {min(int(found[2]), 4)}",
        script,
    )


def run(command: list[str], folder: Path) -> None:
    """Run it as a reader would, with this environment's `reglue`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def check_flags(script: str) -> None:
    """Every flag of a `reglue` command exists."""
    for line in re.sub(r"\\\n", " ", script).splitlines():
        found = re.search(r"\breglue (\w+) (.*)", line.partition(" #")[0])
        if found and not line.startswith("#"):
            flags = {word.partition("=")[0] for word in words(found[2]) if word.startswith("--")}
            assert not flags - known_flags(found[1]), f"{line}: unknown {flags}"


def words(arguments: str) -> list[str]:
    """Those of the command itself, not of a program in quotes."""
    return shlex.split(re.split(r"[|;&]", re.sub(r"(['\"]).*?\1", "quoted", arguments))[0])


@functools.cache
def known_flags(command: str) -> frozenset[str]:
    """What the command's --help names."""
    (point,) = entry_points(group="reglue.commands", name=command)
    shown, main = io.StringIO(), point.load()
    parts = [[name] for name in main.click.commands] if isinstance(main, Commands) else [[]]
    for part in parts:
        with (
            redirect_stdout(shown),
            mock.patch.dict(os.environ, COLUMNS="300"),
            mock.patch("signal.signal"),
            suppress(SystemExit),
        ):
            main([*part, "--help"])
    return frozenset(re.findall(r"--[a-z][\w-]*", shown.getvalue()))

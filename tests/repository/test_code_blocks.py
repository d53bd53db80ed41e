"""The code in README.md and docs/ does what it says.

The blocks of a page are run in order, in one folder: a block with a title is written as that
file, Python and sh without one are run. A block below `<!-- not run: WHY -->` is checked as
far as that goes without what it needs. Commands and files of settings
play at most two runs and episodes. Ports of this machine's are free ones, and what a block leaves
running ends with the page.
"""

from __future__ import annotations

import functools
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from contextlib import ExitStack, redirect_stdout, suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from unittest import mock

import pytest

from glue_server.commands.command import Commands
from tests.repository.pages import Block, blocks, pages

CODE = {"python", "sh", "toml"}

_LOCAL = re.compile(r"127\.0\.0\.1:(\d{4,5})\b")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in pages() if any(b.language in CODE for b in blocks(page))]
)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    ports: dict[str, int] = {}
    with ExitStack() as closing:
        for number, block in enumerate(blocks(page)):
            if block.language in CODE:
                here = replace(block, text=_LOCAL.sub(lambda at: local(at[1], ports), block.text))
                perform(here, number, tmp_path, closing)


def test_flags_that_do_not_exist_are_noticed() -> None:
    with pytest.raises(AssertionError, match="--no-such"):
        check_flags("reglue bench MT10 --agent expert --no-such 3")


def local(port: str, ports: dict[str, int]) -> str:
    """An address of this machine, with the page's free port in place of one that it names."""
    if port not in ports:
        with socket.create_server(("127.0.0.1", 0)) as server:
            ports[port] = server.getsockname()[1]
    return f"127.0.0.1:{ports[port]}"


def perform(block: Block, number: int, folder: Path, closing: ExitStack) -> None:
    """Write the block's file, or run it, or check it."""
    if block.title:
        path = folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        text = cut(block.text) if block.language == "toml" else block.text
        path.write_text(text, encoding="utf-8")
    match block.language:
        case "python":
            compile(block.text, block.title or "block", "exec")
            if block.is_run and not block.title:
                script = folder / f"block_{number}.py"
                script.write_text(block.text, encoding="utf-8")
                run([sys.executable, str(script)], folder, closing)
        case "sh":
            check_flags(block.text)
            run(["sh", "-eu" if block.is_run else "-n", "-c", cut(block.text)], folder, closing)
        case "toml":
            tomllib.loads(block.text)


def cut(text: str) -> str:
    """A script, or a file of settings, whose counts of runs and episodes are at most two."""
    return re.sub(
        r"\b((?:runs|(?:num[-_])?episodes)(?: | = ))(\d+)",
        lambda found: f"{found[1]}{min(int(found[2]), 2)}",
        text,
    )


def run(command: list[str], folder: Path, closing: ExitStack) -> None:
    """Run it as a reader would, with this environment's `reglue`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        closing.callback(end, process.pid)
        out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, f"{command[-1]}\n{out[-2000:]}\n{errors[-4000:]}"


def end(group: int) -> None:
    """End the processes of a block that are left."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


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
    parts = [name.split() for name, _ in main.every()] if isinstance(main, Commands) else [[]]
    for part in parts:
        with (
            redirect_stdout(shown),
            mock.patch.dict(os.environ, COLUMNS="300"),
            mock.patch("signal.signal"),
            suppress(SystemExit),
        ):
            main([*part, "--help"])
    return frozenset(re.findall(r"--[a-z][\w-]*", shown.getvalue()))

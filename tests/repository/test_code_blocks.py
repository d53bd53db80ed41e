"""The code in README.md and docs/ does what it says: see tests/repository/page_reader.py."""

from __future__ import annotations

import functools
import io
import os
import re
import shlex
from contextlib import redirect_stdout, suppress
from importlib.metadata import entry_points
from pathlib import Path
from unittest import mock

import pytest

from glue_server.commands.command import Commands
from tests.reglue_competition.played_phase import PlayedPhase
from tests.repository.page_reader import Reader
from tests.repository.pages import blocks, pages

CODE = {"python", "sh", "toml"}


def a_played_phase(folder: Path) -> dict[str, str]:
    """The transcripts of a competition that is over, one of a hidden task."""
    played = PlayedPhase(folder)
    (hidden := folder / "my-comp").mkdir()
    (hidden / "tasks").mkdir()
    rooms = "from env_adapters.classic.gridworld import GridWorld as Rooms\n"
    (hidden / "tasks/rooms.py").write_text(rooms, encoding="utf-8")
    PlayedPhase(hidden, "multi-task:tasks/rooms.py:Rooms").transcript.rename(
        folder / "hidden.reglue"
    )
    return {
        "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c": played.key,
        "9c41b7f0e2f4a2a95c1d4a0b6a1d2f7e8c3b5a6978f0e1d2c3b4a5968778695a": played.commitment,
    }


PREPARED = {"docs/how-to/check-a-score.md": a_played_phase}
"""The files that a page's reader has already, and the values of here for its examples."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in pages() if any(b.language in CODE for b in blocks(page))]
)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # agents in a sandbox are other users
    prepare = PREPARED.get(page)
    with Reader(tmp_path, prepare(tmp_path) if prepare else {}) as reader:
        for number, block in enumerate(blocks(page)):
            if block.language == "sh":
                check_flags(block.text)
            if block.language in CODE:
                reader.do(block, number)


def test_flags_that_do_not_exist_are_noticed() -> None:
    with pytest.raises(AssertionError, match="--no-such"):
        check_flags("reglue bench MT10 --agent expert --no-such 3")


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
    """The flags that the command's --help names."""
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

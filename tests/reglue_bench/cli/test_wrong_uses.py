"""Wrong uses of the commands: each leaves with 2, changes nothing and says why.

`wrong_uses.txt` has the commands and all of what they say, for people to read.
`python -m tests.wrong_files` writes their messages anew: to add a wrong use, write its line
`$ reglue …` there first.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from reglue_bench.run_folder import LEDGER
from tests.reglue import join_processes
from tests.reglue_bench import bakeoffs
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.cli.commands import command
from tests.reglue_bench.toys import corridor_plan, play

PAGE = Path(__file__).with_name("wrong_uses.txt")


def empty_folder(_: Path) -> None:
    """Nothing is there."""


def agents_and_environments(folder: Path) -> None:
    (folder / "agents.py").write_text(join_processes.AGENTS)
    (folder / "environments.py").write_text(join_processes.ENVIRONMENTS)


def a_run(folder: Path) -> None:
    play(folder / "run", corridor_plan(), Seeded())


def a_recorded_run(folder: Path) -> None:
    asked = "online:gridworld --agent random --runs 1 --episodes 2 --episode-limit 20 --workers 0"
    command(f"reglue bench {asked} --record --out run", folder)


def no_run(folder: Path) -> None:
    (folder / "run").mkdir()


def an_empty_ledger(folder: Path) -> None:
    no_run(folder)
    (folder / "run" / LEDGER).touch()


def a_text_as_ledger(folder: Path) -> None:
    no_run(folder)
    (folder / "run" / LEDGER).write_text("This is no ledger.\n" * 100)


def a_folder_as_ledger(folder: Path) -> None:
    (folder / "run" / LEDGER).mkdir(parents=True)


def a_file_as_run(folder: Path) -> None:
    (folder / "run").touch()


def bakeoff_files(folder: Path) -> None:
    agents = [bakeoffs.agent("seeded"), '[agents.still]\nagent = "constant"\n']
    for name, benchmark in (
        ("bakeoff", bakeoffs.BENCHMARK),
        ("runs", '[benchmark]\nname = "MT10"\nruns = 3\n'),
        ("steps", '[benchmark]\nname = "online:cart-pole"\nsteps = 3\nepisodes = 2\n'),
    ):
        (folder / f"{name}.toml").write_text("\n".join([benchmark, *agents]), "utf-8")
    seeds = '[benchmark]\nname = "MT10"\ntraining_seeds = 0\n'
    (folder / "seeds.toml").write_text("\n".join([seeds, *agents]), "utf-8")
    tables = '[benchmark]\nprocedur = "evaluate"\n[tasks.cart]\nenvironment = "cart-pole"\n'
    (folder / "own.toml").write_text(tables, "utf-8")


def a_competition(folder: Path) -> None:
    command("reglue competition init my-comp --title Treasures", folder)
    command("reglue competition team add my-comp 'Team A'", folder)


def a_competition_with_an_open_phase(folder: Path) -> None:
    a_competition(folder)
    command("reglue competition open my-comp practice", folder)


FOLDERS: dict[str, Callable[[Path], None]] = {
    each.__name__.replace("_", " "): each
    for each in (
        empty_folder,
        agents_and_environments,
        a_run,
        a_recorded_run,
        no_run,
        an_empty_ledger,
        a_text_as_ledger,
        a_folder_as_ledger,
        a_file_as_run,
        bakeoff_files,
        a_competition,
        a_competition_with_an_open_phase,
    )
}
"""The files that are there when a command runs, by its heading on the page."""


def wrong_uses() -> dict[tuple[str, str], str]:
    """The page: what a command says, by what is there and the command."""
    uses, there = {}, ""
    for block in PAGE.read_text("utf-8").split("\n\n"):
        first, _, message = block.strip().partition("\n")
        if first.startswith("# "):
            there = first.removeprefix("# ")
        else:
            uses[there, first.removeprefix("$ ")] = message
    return uses


def entries(folder: Path) -> dict[Path, bytes]:
    """All but locks, compiled code and the folder in which each run has its own; with what files
    hold but for databases, whose readers write beside them.
    """
    return {
        path: path.read_bytes() if path.is_file() and "sqlite" not in path.name else b""
        for path in folder.rglob("*")
        if path.name not in {"lock", "runs"} and path.suffix != ".lock"
        if "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """One of `FOLDERS`, which is made once."""

    @functools.cache
    def make(there: str) -> Path:
        folder = tmp_path_factory.mktemp("made")
        FOLDERS[there](folder)
        return folder

    return make


@pytest.mark.parametrize(("there", "words"), wrong_uses())
def test_a_wrong_use_leaves_with_2_says_why_and_changes_nothing(
    tmp_path: Path, made: Callable[[str], Path], there: str, words: str
) -> None:
    shutil.copytree(made(there), tmp_path, dirs_exist_ok=True)
    before = entries(tmp_path)
    said = command(words, tmp_path)
    assert (said.code, said.stderr) == (2, wrong_uses()[there, words] + "\n")
    assert len(said.stderr.splitlines()) == 1
    assert entries(tmp_path) == before


def rewrite() -> None:
    """Write the page with what the commands say now."""
    blocks, before = [], ""
    for there, words in wrong_uses():
        if there != before:
            blocks.append(f"# {there}")
        folder = Path(tempfile.mkdtemp())
        FOLDERS[there](folder)
        blocks.append(f"$ {words}\n{command(words, folder).stderr.strip()}")
        shutil.rmtree(folder)
        before = there
    PAGE.write_text("\n\n".join(blocks) + "\n", "utf-8")

"""Distributions: the sdist and the wheel, far from any checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from reglue_bench.kit.language import LANGUAGES, LanguageName
from reglue_bench.kit.writing import write_project
from tests.repository.pages import ROOT, blocks
from tests.repository.test_packaging import commands, pyproject
from tests.repository.tracked_files import copy_tracked, tracked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # it installs packages

_CHECKOUT = "reglue_bench/kit/checkout"  # what `reglue kit` writes projects from
_MOST_S = 600.0


@dataclass(frozen=True, slots=True)
class Distributions:
    """The results of `python -m build` for the tracked files."""

    source: Path  # the tracked files
    sdist: Path
    wheel: Path  # made from the sdist


def run(*words: str | Path, cwd: Path, expect: int = 0) -> str:
    """The output of a command, in an environment that knows nothing of this checkout."""
    unset = ("PYTHONPATH", "VIRTUAL_ENV")
    done = subprocess.run(
        words,
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in unset},
        capture_output=True,
        text=True,
        timeout=_MOST_S,
        check=False,
    )
    assert done.returncode == expect, f"{words}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    folder = tmp_path_factory.mktemp("built")
    source, out = folder / "source", folder / "dist"
    copy_tracked(source)
    run(sys.executable, "-m", "build", "--outdir", out, source, cwd=folder)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Distributions(source, sdist, wheel)


@pytest.fixture(scope="module")
def program(built: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs a program of a fresh environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("installed")
    programs = folder / "venv/bin"
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    pip = (programs / "python", "-m", "pip", "install", "--quiet", "--no-compile")
    wheel = f"{built.wheel}[server,gymnasium]"
    run(*pip, "--constraint", ROOT / "constraints.txt", wheel, cwd=folder)

    def run_program(name: str, *words: str | Path, cwd: Path) -> str:
        return run(programs / name, *words, cwd=cwd)

    return run_program


def contents(wheel: Path) -> dict[str, int]:
    """Each file's name and checksum."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def place(path: str) -> str:
    """The place in the wheel of a file of the checkout."""
    for parent in ("agent_clients/python/", "benchmarks/", "competition/"):
        if path.startswith(parent):
            return path.removeprefix(parent)
    return path if path.startswith(("env_adapters/", "glue_server/")) else f"{_CHECKOUT}/{path}"


def test_the_sdist_makes_the_wheel_of_the_checkout(built: Distributions, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, built.source, cwd=tmp_path)
    (direct,) = tmp_path.glob("*.whl")
    assert contents(direct) == contents(built.wheel)


def test_the_sdist_holds_what_a_packager_needs(built: Distributions) -> None:
    root = built.sdist.name.removesuffix(".tar.gz")
    with tarfile.open(built.sdist) as archive:
        names = {each.removeprefix(f"{root}/") for each in archive.getnames()}
    assert names - {"PKG-INFO"} == {*tracked()}


def test_the_wheel_holds_every_file_of_its_packages(built: Distributions) -> None:
    """Styles, templates, migrations and marks of types among them, and the sources of projects."""
    wheel = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]
    left_out = ("/fuzz/", "/test/", "/tests/")
    wanted = {
        place(path)
        for path in tracked(*wheel["only-include"])
        if not (path.startswith("agent_clients/") and any(each in path for each in left_out))
    }
    added = {"reglue_script.py", "reglue_signals.py", f"{_CHECKOUT}/LICENSE"}
    held = {name for name in contents(built.wheel) if ".dist-info/" not in name}
    assert held == wanted | added


def test_the_installed_command_says_its_version_and_its_commands(
    program: Callable[..., str], tmp_path: Path
) -> None:
    assert program("reglue", "--version", cwd=tmp_path) == f"reglue {version()}\n"
    said = program("reglue", "--help", cwd=tmp_path)
    assert [name for name in commands() if f"\n  {name} " not in said] == []


def version() -> str:
    return str(pyproject()["project"]["version"])


def test_the_installed_command_evaluates_and_reports(
    program: Callable[..., str], tmp_path: Path
) -> None:
    words = "bench evaluate:gymnasium:CartPole-v1 --agent random --num-episodes 3 --out run"
    program("reglue", *words.split(), cwd=tmp_path)
    program("reglue", "report", "run", cwd=tmp_path)
    assert "CartPole-v1" in (tmp_path / "run/report.html").read_text("utf-8")


def test_the_first_pages_program_runs_where_it_is_installed(
    program: Callable[..., str], tmp_path: Path
) -> None:
    (block,) = (each for each in blocks("README.md") if "reglue.evaluate(" in each.text)
    (tmp_path / "first.py").write_text(f"{block.text}print(reglue.__file__)\n")
    *said, file = program("python", "first.py", cwd=tmp_path).splitlines()
    assert "100 episodes" in "\n".join(said)
    assert "site-packages" in file


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_installed_kit_writes_the_projects_of_the_checkout(
    language: LanguageName, program: Callable[..., str], tmp_path: Path
) -> None:
    """The same files, to the byte."""
    here, there = tmp_path / "here", tmp_path / "there"
    write_project(language, here)
    program("reglue", "kit", language, there, cwd=tmp_path)
    assert files(here) == files(there)


def files(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}

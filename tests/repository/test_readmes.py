"""What the folders' READMEs name is there, in the order that they promise."""

from __future__ import annotations

import itertools
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.repository.pages import ROOT
from tests.repository.test_links import markdown

READMES = [page for page in markdown() if page.endswith("/README.md")]
MADE = {"site/", "Manifest.toml"}  # by a build
SOURCE = r"[\w./-]+(?:\.(?:py|proto|toml|cc|hpp?|jl|ts)|/)"


def files(folder: str) -> list[str]:
    return subprocess.check_output(["git", "ls-files", folder], cwd=ROOT, text=True).splitlines()


def named(text: str) -> list[str]:
    """The files and folders that a text names, each in backticks."""
    return re.findall(rf"`({SOURCE})`", text)


@pytest.mark.parametrize("page", READMES)
def test_a_file_that_is_named_is_in_the_folder(page: str) -> None:
    """In the README's, or a folder in it; or where its path from the root says."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S)
    sources = [f"/{each}" for each in files(str(Path(page).parent))]
    near = [each for each in named(text) if not any(_is_in(each, source) for source in sources)]
    assert [each for each in near if each not in MADE and not (ROOT / each).exists()] == []


def _is_in(name: str, source: str) -> bool:
    """Whether a source is the file `name`, or in the folder."""
    return f"/{name}" in source if name.endswith("/") else source.endswith(f"/{name}")


def test_the_packages_of_the_benchmarks_are_listed_from_the_lowest_layer_up() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    [layers] = [c["layers"] for c in contracts if c.get("containers") == ["reglue_bench"]]
    floor = {
        name: number
        for number, layer in enumerate(reversed(layers))
        for name in re.split(r" [:|] ", layer)
    }
    items = re.findall(r"^\d+\. .*$", (ROOT / "benchmarks/README.md").read_text("utf-8"), re.M)
    listed = [[floor[Path(name).stem] for name in named(item)] for item in items]
    assert all(max(before) <= min(after) for before, after in itertools.pairwise(listed))
    folders = {Path(name).name for item in items for name in named(item) if name.endswith("/")}
    packages = {
        each.parent.name for each in (ROOT / "benchmarks/reglue_bench").glob("*/__init__.py")
    }
    assert packages - folders == {"bakeoff", "kit", "metaworld"}  # of commands of their own

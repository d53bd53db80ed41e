"""The names in the folders' READMEs exist, in the order that they promise."""

from __future__ import annotations

import itertools
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from env_adapters.metaworld import catalogue
from reglue.__main__ import main
from reglue_bench.kit.language import LANGUAGES
from tests.repository.pages import ROOT
from tests.repository.test_links import markdown

READMES = [page for page in markdown() if page.endswith("/README.md")]
MADE = {"site/", "Manifest.toml"}  # by a build
FILE = r"[\w./-]+\.(?:cc?|css|h|jl|js|json|md|proto|py|sh|svg|toml|ts|txt|yml)"


def files(folder: str) -> list[str]:
    return subprocess.check_output(["git", "ls-files", folder], cwd=ROOT, text=True).splitlines()


def named(text: str) -> list[str]:
    """The files, and folders with a slash at the end, that a text names in backticks.

    What a link shows is not one: where it leads is tested in test_links.py.
    """
    return re.findall(rf"(?<!\[)`({FILE}|[\w./-]+/|\.ci/[\w-]+)`", text)


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


def install() -> str:
    """The README's section on installing."""
    _, section, _ = re.split(
        r"^## (?:Install|Demo)\n", (ROOT / "README.md").read_text("utf-8"), flags=re.M
    )
    return section


def test_every_extra_is_named_where_people_install_and_in_the_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {*project["optional-dependencies"]} - {"dev"}
    in_the_command = re.findall(r"'\.\[(.*)\]'", install())
    others = re.findall(r"^Other extras: (.*?)\. ", install(), re.M)
    said = {each for text in in_the_command for each in text.split(",")}
    said |= {each for text in others for each in re.findall(r"`([\w-]+)`", text)}
    assert said == extras - {"docs"}  # of those who change Reglue
    table = (ROOT / "docs/how-to/index.md").read_text("utf-8").partition("## Extras")[2]
    rows = re.findall(r"^\| (`.*?) \|", table.partition("## ")[0], re.M)
    assert {each for row in rows for each in re.findall(r"`([\w-]+)`", row)} == extras


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_versions_of_python_are_those_of_the_package(page: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    minors = [each.rpartition("3.")[2] for each in project["classifiers"] if ":: 3." in each]
    said = re.findall(
        r"You need Linux(?:,| and) Python 3\.(\d+) to 3\.(\d+)", (ROOT / page).read_text("utf-8")
    )
    assert said == [(minors[0], minors[-1])]
    assert project["requires-python"] == f">=3.{minors[0]}"


def test_the_readme_names_meta_worlds_benchmarks() -> None:
    [said] = re.findall(
        r"^- \*\*Meta-World benchmarks\*\*: (.*), and your own",
        (ROOT / "README.md").read_text("utf-8"),
        re.M,
    )
    assert {*said.split(", ")} == {name.partition(":")[0] for name in catalogue()} - {"MT", "ML"}


def test_the_readme_names_every_language_that_has_a_client() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    linked = re.findall(r"\(agent_clients/(\w+)/README\.md\)", text)
    assert {*linked, "python"} == {*LANGUAGES}


@pytest.mark.slow
def test_the_demos_table_is_what_the_demo_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    [command] = re.findall(r"^\t\$\(BIN\)/reglue (bench MT10 .*) --out \$\(DEMO\)$", makefile, re.M)
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--out", str(tmp_path / "demo")])
    assert left.value.code == 0
    printed = capsys.readouterr().out.splitlines()
    [table] = re.findall(
        r"^```text\n( +ExpertAgent on .*?)^```",
        (ROOT / "README.md").read_text("utf-8"),
        re.M | re.S,
    )
    rows = [line for line in table.splitlines() if line.strip() != "…"]
    assert [row for row in rows if row.rstrip() not in map(str.rstrip, printed)] == []

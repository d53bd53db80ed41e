"""Projects that `reglue kit` writes, and its refusals. tests/agent_clients builds the projects."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from reglue_bench.kit.language import LANGUAGES, LanguageName
from reglue_bench.kit.sources import source
from tests.reglue_bench.conftest import Say


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_project_has_four_commands_and_the_client(
    say: Say, tmp_path: Path, language: LanguageName
) -> None:
    out = tmp_path / "new/project"
    assert say("kit", language, out).returncode == 0
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^```sh\n[^\n]+\n```$", readme, re.MULTILINE)) == 4
    assert readme.count("```") == 8
    agent = out / LANGUAGES[language].agent
    assert agent.read_bytes() == source(LANGUAGES[language].example).read_bytes()
    client = out / "vendor/reglue/agent_clients" / language
    assert client.is_dir()
    links = [each.partition("#")[0] for each in re.findall(r"\]\(([^)]+)\)", readme)]
    assert f"vendor/reglue/{LANGUAGES[language].interface}" in links
    assert all((out / each).exists() for each in links)
    assert not {"__pycache__", "build", "node_modules", "tests"} & {
        each.name for each in client.rglob("*")
    }


def test_the_python_client_has_all_modules_beside_its_package(say: Say, tmp_path: Path) -> None:
    assert say("kit", "python", tmp_path).returncode == 0
    client = tmp_path / "vendor/reglue/agent_clients/python"
    beside = {each.name for each in source("agent_clients/python").glob("*.py")}
    assert {each.name for each in client.glob("*.py")} == beside
    about = tomllib.loads((client / "pyproject.toml").read_text(encoding="utf-8"))
    assert about["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].keys() == beside


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_run_writes_goes_into_no_commit_and_no_container(
    say: Say, tmp_path: Path, language: LanguageName
) -> None:
    assert say("kit", language, tmp_path).returncode == 0
    assert "/runs/" in (tmp_path / ".gitignore").read_text().splitlines()
    assert "runs" in (tmp_path / ".dockerignore").read_text().splitlines()


@pytest.mark.parametrize(
    ("language", "checkout", "shared"), [("c", "cpp", 3), ("cpp", "cpp", 3), ("julia", "julia", 5)]
)
def test_a_container_shares_layers_with_the_checkouts_own(
    say: Say, tmp_path: Path, language: LanguageName, checkout: LanguageName, shared: int
) -> None:
    """So that the client is compiled once for both: RUN instructions are alike, to the letter."""
    assert say("kit", language, tmp_path).returncode == 0
    commands = [
        re.findall(r"^RUN (?:.*\\\n)*.*$", file.read_text(encoding="utf-8"), re.MULTILINE)
        for file in (tmp_path / "Dockerfile", source(f"agent_clients/{checkout}/Dockerfile"))
    ]
    assert len([each for each in commands[0] if each in commands[1]]) == shared


def test_pythons_commands_name_the_class_of_its_agent_and_the_readme_says_so(
    say: Say, tmp_path: Path
) -> None:
    assert say("kit", "python", tmp_path).returncode == 0
    (name,) = re.findall(r"^class ([A-Z]\w+)", (tmp_path / "agent.py").read_text(), re.MULTILINE)
    for file in ("README.md", "Dockerfile"):
        assert f"agent.py:{name}" in (tmp_path / file).read_text()
    assert f"name its class, `{name}`: change them with it" in (tmp_path / "README.md").read_text()


def test_a_folder_that_is_there_may_be_empty(say: Say, tmp_path: Path) -> None:
    assert say("kit", "python", tmp_path).returncode == 0
    assert (tmp_path / "agent.py").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, say: Say) -> None:
    (tmp_path / "mine.txt").touch()
    done = say("kit", "cpp", tmp_path)
    assert done.returncode == 2
    assert f"got {tmp_path}, which is not empty, wanted a folder" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_a_language_without_a_project_is_told_which_there_are(tmp_path: Path, say: Say) -> None:
    done = say("kit", "fortran", tmp_path)
    assert done.returncode == 2
    said = done.stderr
    assert "fortran" in said
    assert all(f"'{name}'" in said for name in LANGUAGES)


def test_tools_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    """The project is written all the same: its container is built without them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = say("kit", "typescript", tmp_path / "project")
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert "install what is missing: node, npm. Node 20.18, 22.9 or newer, with npm, is at" in said


def test_no_readme_sends_for_a_program_to_packages_that_lack_it(say: Say, tmp_path: Path) -> None:
    """Debian 12 has no Julia, and a Node that the client is too new for."""
    for language, place in (("julia", "julialang.org"), ("typescript", "nodejs.org")):
        assert say("kit", language, tmp_path / language).returncode == 0
        (needs,) = re.findall("^It needs .*", (tmp_path / language / "README.md").read_text(), re.M)
        assert place in needs
        assert not re.search(r"apt-get install [^`]*\b(julia|nodejs|npm)\b", needs)


def test_a_file_in_the_place_of_the_folder_is_told_as_one(tmp_path: Path, say: Say) -> None:
    (tmp_path / "project").touch()
    done = say("kit", "cpp", tmp_path / "project")
    assert done.returncode == 2
    assert "project, which is a file, wanted a folder that is new or" in done.stderr


@pytest.mark.parametrize("is_new", [True, False])
def test_where_the_disk_refuses_a_file_the_reason_is_told_and_nothing_is_left(
    tmp_path: Path, say: Say, *, is_new: bool
) -> None:
    out = tmp_path
    while len(str(out)) < 4000:
        out /= "x" * 60
    out /= "x" * (4070 - len(str(out)))  # the paths of the folder and of agent.c fit, others do not
    (out.parent if is_new else out).mkdir(parents=True)
    done = say("kit", "c", out)
    assert done.returncode == 1
    assert re.search("cannot be written: .*File name too long", done.stderr)
    assert [*out.parent.iterdir()] == ([] if is_new else [out])
    assert is_new or not [*out.iterdir()]


def test_where_the_disk_refuses_the_folder_is_named(tmp_path: Path, say: Say) -> None:
    (tmp_path / "file").touch()
    done = say("kit", "c", tmp_path / "file/project")
    assert done.returncode == 1
    assert "cannot be written: Not a directory" in done.stderr

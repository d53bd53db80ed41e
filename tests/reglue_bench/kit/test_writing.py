"""What `reglue kit` writes, and what it refuses. tests/agent_clients builds the projects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reglue_bench.cli.kit import main
from reglue_bench.kit.language import LANGUAGES, LanguageName
from reglue_bench.kit.sources import source


def kit(*words: str) -> int:
    """The command's exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_project_has_four_commands_and_the_client(tmp_path: Path, language: LanguageName) -> None:
    out = tmp_path / "new/project"
    assert kit(language, str(out)) == 0
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^```sh\n[^\n]+\n```$", readme, re.MULTILINE)) == 4
    assert readme.count("```") == 8
    agent = out / LANGUAGES[language].agent
    assert agent.read_bytes() == source(LANGUAGES[language].example).read_bytes()
    client = out / "vendor/reglue/agent_clients" / language
    assert client.is_dir()
    assert not {"__pycache__", "build", "node_modules", "tests"} & {
        each.name for each in client.rglob("*")
    }


def test_a_folder_that_is_there_may_be_empty(tmp_path: Path) -> None:
    assert kit("python", str(tmp_path)) == 0
    assert (tmp_path / "agent.py").exists()


def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").touch()
    assert kit("cpp", str(tmp_path)) == 2
    assert f"got {tmp_path}, which is not empty; wanted a folder" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_a_language_without_a_project_is_told_which_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kit("fortran", str(tmp_path)) == 2
    said = capsys.readouterr().err
    assert "fortran" in said
    assert all(f"'{name}'" in said for name in LANGUAGES)


def test_tools_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The project is written all the same: its container is built without them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert kit("typescript", str(tmp_path / "project")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "install what is missing: node, npm. On Debian: sudo apt-get install nodejs npm" in said


def test_where_the_disk_refuses_the_folder_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert kit("c", str(tmp_path / "file/project")) == 1
    assert "cannot be written: Not a directory" in capsys.readouterr().err

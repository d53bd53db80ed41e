"""The `reglue` command itself."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest

SCRIPT = Path(sysconfig.get_path("scripts")) / "reglue"
MODULE = (sys.executable, "-m", "reglue")

WITHOUT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
from reglue.__main__ import main
sys.exit(main({arguments!r}))
"""


def run(*command: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["join", "--help"], ["--version"], ["nonsense"]])
def test_the_module_and_the_script_are_the_same(arguments: list[str]) -> None:
    assert run(*MODULE, *arguments) == run(SCRIPT, *arguments)


def test_help_lists_the_commands() -> None:
    code, words, _ = run(*MODULE, "--help")
    assert code == 0
    for command in ("join", "bench", "benchmarks", "try", "report"):
        assert f"  {command:<12}" in words


def test_the_version_is_the_packages() -> None:
    assert run(*MODULE, "--version") == (0, f"reglue {version('reglue')}\n", "")


@pytest.mark.parametrize("word", ["nonsense", "--nonsense"])
def test_what_is_no_command_is_wrong_usage(word: str) -> None:
    code, _, words = run(*MODULE, word)
    assert code == 2
    assert words.startswith("reglue: ")
    assert f"'{word}'" in words
    assert len(words.splitlines()) == 1


def test_without_a_command_the_help_is_shown() -> None:
    code, _, words = run(*MODULE)
    assert (code, words) == (2, run(*MODULE, "--help")[1])


@pytest.mark.parametrize("command", ["bench", "benchmarks", "try", "report"])
def test_a_command_whose_extra_is_missing_says_which(command: str) -> None:
    code = WITHOUT.format(missing="typer", arguments=[command])
    assert run(sys.executable, "-c", code) == (
        2,
        "",
        f"reglue {command} needs typer: pip install 'reglue[server]'\n",
    )


def test_an_extra_that_only_the_work_of_a_command_needs_is_named(tmp_path: Path) -> None:
    """Its help does without."""
    code = WITHOUT.format(missing="sqlalchemy", arguments=["competition", "runs", str(tmp_path)])
    assert run(sys.executable, "-c", code) == (
        2,
        "",
        "reglue competition needs sqlalchemy: pip install 'reglue[server,competition]'\n",
    )


@pytest.mark.parametrize(
    "missing", ["typer", "metaworld", "grpc_health", "pydantic", "glue_server"]
)
def test_join_needs_no_extra(missing: str) -> None:
    code = WITHOUT.format(missing=missing, arguments=["join", "random", "--agent-arg", "x"])
    exit_code, _, words = run(sys.executable, "-c", code)
    assert exit_code == 2
    assert "got the argument 'x', wanted key=value" in words

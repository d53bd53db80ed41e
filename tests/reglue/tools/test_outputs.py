"""A command whose stdout or stderr is closed, full, or lacks a character."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reglue_bench.results.result import read_result

pytestmark = pytest.mark.slow

BENCH = "bench evaluate:mountain-car --agent random --num-episodes 2 --episode-limit 20 --workers 0"


def shell(line: str, folder: Path, **variables: str) -> tuple[int, str, str]:
    """The exit code of a line of bash, its stdout and stderr.

    `$R` is `reglue`, and nobody reads descriptor 3.
    """
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        ["bash", "-c", f'R="{sys.executable} -m reglue"; exec 3> >(:); wait $!; {line}'],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths} | variables,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (">&-", ["reglue: stdout: it is closed; what follows there is lost"]),
        ("2>&-", []),
        (">&- 2>&-", []),
        ("<&- >&- 2>&-", []),
        ("2> /dev/full", []),
        ("> /dev/full 2>&1", []),
        (
            "> /dev/full",
            ["reglue: stdout: No space left on device; what follows there is lost"],
        ),
        (
            ">&3",
            ["reglue: stdout: Broken pipe; what follows there is lost"],
        ),
    ],
)
def test_a_run_is_whole_without_its_outputs(tmp_path: Path, ending: str, said: list[str]) -> None:
    code, _, stderr = shell(f"$R {BENCH} --out run {ending}", tmp_path)
    assert code == 0
    assert stderr.splitlines() == said
    assert read_result(tmp_path / "run").complete
    assert {each.name for each in (tmp_path / "run").iterdir()} >= {"ledger.sqlite", "result.json"}


ASCII = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


@pytest.mark.parametrize("variables", ASCII)
def test_characters_that_an_encoding_lacks_are_replaced(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    code, stdout, stderr = shell(f"$R {BENCH} --out run", tmp_path, **variables)
    assert (code, stderr) == (0, "")
    assert "run/result.json" in stdout
    assert "?" in stdout
    code, stdout, stderr = shell("$R benchmarks", tmp_path, **variables)
    assert (code, stderr) == (0, "")
    assert "MT10" in stdout


CLOSED, FULL = (">&-", "it is closed"), ("> /dev/full", "No space left on device")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert shell(f"$R {BENCH} --out run", folder)[0] == 0
    words = "online:gridworld --agent random --runs 1 --episodes 2 --workers 0 --record --out data"
    assert shell(f"$R bench {words}", folder)[0] == 0
    return folder


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (f"{BENCH} --json --out new", FULL),
        ("report run --json", CLOSED),
        ("export run", CLOSED),
        ("export run --format jsonl", FULL),
        ("benchmarks --json", FULL),
        ("benchmarks MT10 --describe", CLOSED),
        ("dataset info data --json", CLOSED),
        ("completion bash", FULL),
    ],
)
def test_a_command_whose_output_is_its_product_fails_by_one_line(
    runs: Path, command: str, ending: tuple[str, str]
) -> None:
    code, _, stderr = shell(f"$R {command} {ending[0]}", runs)
    assert code == 1
    name = command.partition(" ")[0]
    assert stderr.splitlines()[-1] == f"reglue {name}: stdout cannot be written to: {ending[1]}"
    assert "Traceback" not in stderr


def test_a_document_with_a_closed_stdout_is_refused_before_the_play(tmp_path: Path) -> None:
    assert shell(f"$R {BENCH} --json --out run >&-", tmp_path)[0] == 1
    assert not (tmp_path / "run").exists()


def test_no_file_of_a_run_becomes_a_closed_descriptor(tmp_path: Path) -> None:
    """The output of an environment's library on stdout would be in the ledger."""
    Path(tmp_path, "printing.py").write_text(
        "import os\nfrom env_adapters.classic.mountain_car import MountainCar\n"
        "class Prints(MountainCar):\n"
        "    def begin(self, rng):\n"
        "        os.write(1, b'x' * 4096)\n"
        "        return super().begin(rng)\n"
    )
    words = BENCH.replace("mountain-car", "printing.py:Prints")
    assert shell(f"$R {words} --out run <&- >&- 2>&-", tmp_path)[0] == 0
    assert shell("$R report run", tmp_path)[0] == 0

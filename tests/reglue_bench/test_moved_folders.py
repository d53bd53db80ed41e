"""Environments that move their process to another folder: no file of a run moves with them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue.__main__ import main
from reglue_bench import Evaluator, evaluate
from reglue_bench.results.result import read_result
from reglue_bench.run_folder import LEDGER
from tests.reglue_bench.moving import Moves

ENVIRONMENT = Path(__file__).with_name("moving.py")
WHEN = pytest.mark.parametrize("when", ["init", "reset"])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("REGLUE_CACHE_DIR", "cache")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    with contextlib.chdir(tmp_path / "here"):
        yield


def zeros(observations: Any) -> Any:
    return np.zeros(len(observations), int)


def options(tmp_path: Path, when: str) -> dict[str, Any]:
    arguments = {"when": when, "to": str(tmp_path / "elsewhere")}
    return {"environment_args": arguments, "num_episodes": 2, "raise_faults": True}


def check(tmp_path: Path, run: str) -> None:
    """The whole run is where it was asked for, and the process is elsewhere or was never moved."""
    folder = tmp_path / "here" / run
    assert (folder / LEDGER).is_file()
    assert read_result(folder).complete
    assert not list((tmp_path / "elsewhere").iterdir())


@WHEN
@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_of_a_name_stays_in_its_folder(tmp_path: Path, when: str, workers: int) -> None:
    name = f"evaluate:{os.path.relpath(ENVIRONMENT)}:Moves"
    evaluate(name, agent=zeros, out="runs/a", workers=workers, **options(tmp_path, when))
    check(tmp_path, "runs/a")


@WHEN
def test_a_run_of_a_class_stays_in_its_folder(tmp_path: Path, when: str) -> None:
    """Also its log, if the agent's program has one, which is found from the folder of the call."""
    code = (
        "import numpy\ndef zeros(observations):\n    return numpy.zeros(len(observations), int)\n"
    )
    Path("agent.py").write_text(code)
    evaluate(Moves, agent="agent.py:zeros", out=Path("runs/b"), **options(tmp_path, when))
    check(tmp_path, "runs/b")


@WHEN
def test_an_evaluators_run_stays_in_its_folder(tmp_path: Path, when: str) -> None:
    made = options(tmp_path, when)
    made.pop("raise_faults")
    with Evaluator(Moves, **made) as evaluator:
        os.chdir(tmp_path / "here")  # as a relative path means the folder of the call
        evaluator(zeros, out="runs/c")
    check(tmp_path, "runs/c")


@WHEN
@pytest.mark.parametrize("workers", [0, 1])
def test_a_commands_run_stays_in_its_folder(
    tmp_path: Path, when: str, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", f"evaluate:{os.path.relpath(ENVIRONMENT)}:Moves", "--agent", "random"]
    words += ["--environment-arg", f"when={when}", "--num-episodes", "2", "--out", "runs/d"]
    words += ["--environment-arg", f"to={tmp_path / 'elsewhere'}", "--workers", str(workers)]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    check(tmp_path, "runs/d")
    moved = Path.cwd() != tmp_path / "here"
    named = f"{tmp_path / 'here'}/runs/d" if moved else "runs/d"
    assert f"{named}/result.json; `reglue report {named}` draws it" in capsys.readouterr().out


def test_a_path_is_named_as_its_user_has_it_where_code_moved_to_a_folder_above(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", f"evaluate:{ENVIRONMENT}:Moves", "--agent", "random", "--out", "runs/f"]
    words += ["--environment-arg", "when=init", "--environment-arg", f"to={tmp_path}"]
    with pytest.raises(SystemExit):
        main([*words, "--num-episodes", "2", "--workers", "0"])
    assert f"{tmp_path / 'here'}/runs/f/result.json" in capsys.readouterr().out


@WHEN
def test_a_bakeoffs_runs_and_report_stay_in_its_folder(tmp_path: Path, when: str) -> None:
    (tmp_path / "here" / "bakeoff.toml").write_text(
        f'[benchmark]\nname = "evaluate:{ENVIRONMENT}:Moves"\nnum_episodes = 2\nworkers = 0\n'
        f'environment_args = {{ when = "{when}", to = "{tmp_path / "elsewhere"}" }}\n'
        '[agents.one]\nagent = "random"\n[agents.two]\nagent = "random"\n'
    )
    with pytest.raises(SystemExit) as left:
        main(["bakeoff", "bakeoff.toml", "--out", "runs/e"])
    assert left.value.code == 0
    check(tmp_path, "runs/e/two")
    assert (tmp_path / "here" / "runs" / "e" / "report.html").is_file()

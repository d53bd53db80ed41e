"""`reglue report --json`: what the page says, for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reglue_bench.report.page_contents import comparison_view
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_bench.toys import corridor_plan, play


def printed(say: Say, *folders: str | Path) -> Any:
    """The document that `reglue report FOLDERS --json` prints."""
    done = say("report", *folders, "--json")
    assert done.returncode == 0
    return json.loads(done.stdout)


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """Of two runs, which have a score and no ledger."""
    for label, rate in (("poor", 0.2), ("good", 0.9)):
        (tmp_path / label).mkdir()
        make_result(Play(label=label, rate=rate)).write(tmp_path / label)
    return [str(tmp_path / label) for label in ("poor", "good")]


def test_a_run_is_its_result_json_and_there_is_no_comparison(say: Say, folders: list[str]) -> None:
    found = printed(say, folders[0])
    assert found == {
        "runs": [
            {
                "name": "poor",
                "folder": folders[0],
                "result": json.loads(Path(folders[0], "result.json").read_text()),
            }
        ],
        "verdict": "",
        "comparisons": [],
        "over_training_seeds": None,
    }
    assert Path(folders[0], "report.html").exists()


def test_runs_are_compared_as_on_the_page(say: Say, tmp_path: Path) -> None:
    runs = [play(tmp_path / name, corridor_plan(), Seeded(), label=name) for name in ("one", "two")]
    found = printed(say, tmp_path / "one", tmp_path / "two")
    view = comparison_view([(each.agent.label, each) for each in runs])
    [pair] = found["comparisons"]
    assert (pair["run"], pair["reference"]) == ("two", "one")
    assert (pair["difference"], pair["pairs"]) == (0.0, view.differences[1, 0].pairs)
    assert found["verdict"] == view.verdict


def test_each_figure_is_written_for_a_paper(say: Say, folders: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    done = say("report", folders[0], "--figures", folder)
    assert done.returncode == 0
    assert {path.name for path in folder.iterdir()} == {"run-0-tasks.svg", "run-0-tasks.pdf"}
    assert (folder / "run-0-tasks.pdf").read_bytes().startswith(b"%PDF-")
    assert "</svg>" in (folder / "run-0-tasks.svg").read_text(encoding="utf-8")
    for name in ("report.html", "run-0-tasks.svg", "run-0-tasks.pdf"):
        assert name in done.stdout.replace("\n", "")


def test_a_file_in_place_of_the_folder_of_figures_is_refused(
    say: Say, folders: list[str], tmp_path: Path
) -> None:
    (tmp_path / "figures").touch()
    done = say("report", folders[0], "--figures", tmp_path / "figures")
    assert done.returncode == 2
    assert "File exists" in done.stderr

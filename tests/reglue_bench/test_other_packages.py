"""Families of environments, and procedures, that other packages register are played by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.packages import install_family, install_procedure
from tests.programs import run_python

pytestmark = pytest.mark.slow

PLAYS = """
import json, os, sys
from pathlib import Path

folder, *commands = sys.argv[1:]
os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
sys.path.insert(0, folder)
from tests.reglue_bench.cli.commands import command

said = [command(f"reglue {words}", Path(folder)) for words in commands]
assert not any(each.code for each in said), said
print(json.dumps([each.stdout for each in said]))
"""


def reglue(folder: Path, *commands: str) -> list[str]:
    """The output of each command in a folder, in one process, with the packages that are there."""
    done = run_python(PLAYS, str(folder), *commands, REGLUE_CACHE_DIR="")
    outputs: list[str] = json.loads(done.stdout)
    return outputs


def test_bench_plays_a_family_and_benchmarks_lists_it(tmp_path: Path) -> None:
    install_family(tmp_path)
    bench = "bench multi-task:corridors:3 --agent random --workers 1 --out run"
    # Its suite is trusted, so that a run from elsewhere is drawn too: nothing is signed here.
    _, listed, watched = reglue(tmp_path, bench, "benchmarks", "watch run --episode 0")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["score"]["success_rate_per_task"] == {"walk": 1.0}
    assert "corridors:<variants>" in listed
    assert "replayed exactly" in watched


def test_a_fourth_procedure_brings_parameters_tally_score_summary_and_report_in_one_file(
    tmp_path: Path,
) -> None:
    install_family(tmp_path)
    install_procedure(tmp_path)
    name, agent = "first-goals:corridors:3", "--agent random --workers 0"
    tried, shown, watched, _, _, described, known = reglue(
        tmp_path,
        f"try {name} {agent}",
        f"bench {name} {agent} --procedure-arg times=4 --out run",
        "watch run --episode 3",
        f"bench {name} {agent} --procedure-arg times=4 --out again",
        "report run again",
        f"benchmarks {name} --describe",
        "benchmarks --json",
    )
    assert "ready" in tried
    assert "first goals, 4 of 4 episodes" in shown
    assert "the last walk took 1 steps" in shown
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["procedure"], result["parameters"]) == ("first-goals", {"times": 4})
    assert (result["score"]["success_rate_per_task"], result["score"]["mean_return"]) == (
        {"walk": 1.0},
        None,
    )
    assert "replayed exactly" in watched
    page = (tmp_path / "run" / "report.html").read_text()
    assert "first-goals: the first goal of each task" in page
    assert "First goals alone, paired goal by goal." in page
    assert "came to the same on every goal" in page
    assert page.count(">The last walk<") == 2
    (tmp_path / "mine.toml").write_text(described.replace("times = 2", "times = 3"))
    (of_file,) = reglue(tmp_path, f"bench mine.toml {agent}")
    assert "3 of 3 episodes" in of_file
    assert json.loads(known)["procedures"] == [
        "evaluate",
        "multi-task",
        "meta-learning",
        "online",
        "first-goals",
    ]

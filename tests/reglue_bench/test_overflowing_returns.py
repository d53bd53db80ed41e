"""An episode whose finite rewards have no finite sum has crashed, however it is played."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from env_adapters import Cell
from glue_server import CRASHED, Order, Outcome
from reglue import Phase
from reglue_bench import evaluate
from reglue_bench.replay.recorded import read_episode
from reglue_bench.replay.replay import Replay
from reglue_bench.report.page import draw_report
from reglue_bench.results.result import read_result
from reglue_bench.runs.observer import RunStarted
from reglue_bench.terminal.progress import Display, Lines
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, online_plan

WORLD = "tests.reglue_bench.bench_worlds:Steep"
SOLVED = {"solved": {"walk": [0] * 12}}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "multi-task": ("multi-task", {"num_episodes": 12}),
    "evaluate": ("evaluate", {"num_episodes": 12}),
    "meta-learning": (
        "meta-learning",
        {"num_evals": 4, "adaptation_episodes": 1, "meta_batch_size": 2},
    ),
    "online": ("online", {"runs": 6, "episodes": 2}),
    "online, of steps": ("online", {"runs": 6, "steps": 8}),
    "training": ("evaluate", {"num_episodes": 6, "train_steps": 60}),
}


def played(way: str, folder: Path) -> Any:
    procedure, options = WAYS[way]
    return evaluate(
        f"{procedure}:{WORLD}",
        agent=Seeded(),
        out=folder,
        environment_args=SOLVED,
        raise_faults=False,
        workers=0,
        slots={"online": 1, "meta-learning": None}.get(procedure, 2),
        **options,
    )


@pytest.mark.parametrize("way", WAYS)
def test_it_has_crashed_in_every_procedure(way: str, tmp_path: Path) -> None:
    result = played(way, tmp_path / "run")
    rows = list(result.episodes)
    assert {row.status for row in rows} == {"ok", CRASHED}
    for row in rows:
        assert math.isfinite(row.return_)
        if row.status == CRASHED:
            assert row.detail.startswith("its return: got ")
            assert not row.success
            assert abs(row.return_) == (sys.float_info.max if row.steps else 0)
    text = (tmp_path / "run" / "result.json").read_text()
    json.loads(text, parse_constant=pytest.fail)
    assert read_result(tmp_path / "run").with_episodes(rows) == result.with_episodes(rows)
    draw_report([("run", result)])


def test_a_replay_has_the_same_return(tmp_path: Path) -> None:
    result = played("evaluate", tmp_path / "run")
    for row in result.episodes:
        recorded = read_episode(tmp_path / "run", row.unit, trust_code=True)
        replay = Replay(recorded, recorded.suite.build())
        assert len(list(replay.moments())) == row.steps + 1
        replay.close()


@pytest.mark.parametrize("judged_by", ["success", "return"])
def test_lines_of_progress_show_huge_returns(judged_by: str) -> None:
    """Of one sign and of both: a sum of them is not finite."""
    plan = corridor_plan()
    plan = replace(plan, parameters={**plan.parameters, "judged_by": judged_by})
    for begun in (plan, online_plan(runs=1, episodes=6)):
        text = StringIO()
        for display in (
            Lines(Console(file=text)),
            Display(Console(file=text, force_terminal=True)),
        ):
            display.begin(RunStarted(begun, left=range(6), executed=lambda: 0))
            for k, return_ in enumerate([1.7e308, 1.7e308, -1.7e308, -1.7e308, 1e-320]):
                at = (0, k) if begun.procedure == "online" else (k, 0)
                order = Order(*at, Cell("a", 0, 0, 0, Phase.EVALUATE), 0)
                display.outcome(Outcome(order, "ok", return_=return_), "evaluate")
            display.end()
        assert not {"nan", "inf"} & set(text.getvalue().replace(",", " ").split())

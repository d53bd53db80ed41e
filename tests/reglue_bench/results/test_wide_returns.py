"""Returns of any finite size: a result holds numbers alone, and can be read, compared and drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console

from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.measures.compare import Difference, compare
from reglue_bench.measures.seed_statistics import compare_agents, over_training_seeds
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.procedures.training import Training
from reglue_bench.report.page import draw_report
from reglue_bench.results.episodes import with_cells
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import ReturnScore
from reglue_bench.runs.ledger import Row
from reglue_bench.settings import read_settings
from reglue_bench.terminal.summary import print_summary
from tests.error_facts import raises
from tests.reglue_bench.test_float_range import WIDE
from tests.reglue_bench.toys import corridor_plan, online_plan, scored

PLANS: dict[str, Plan] = {
    "multi-task": corridor_plan(judged_by="return"),
    "worst known": corridor_plan(judged_by="return", worst_performance=-1e308),
    "evaluate": make_plan(read_settings(benchmark="evaluate:cart-pole", num_episodes=6)),
    "online": online_plan(runs=3, episodes=4),
    "online, of steps": online_plan(runs=3, steps=4),
    "training": make_plan(
        read_settings(benchmark="evaluate:cart-pole", num_episodes=6, train_steps=100)
    ),
}
MOST = 12  # returns that a run of one of them has

EXTREMES: dict[str, Sequence[float]] = {
    "huge, of both signs": [1.7e308, -1.7e308],
    "large": [1e200, -1e200, 0.0],
    "below the fourth root": [-1e78, 76.67],
    "tiny": [1e-320, 0.0, -1e-320],
    "of all sizes": [1.7e308, 1e-320, -3.5],
}


def made(name: str, returns: Sequence[float], lost: int = 0) -> Result:
    """A run of these returns, in turn; so many of its first episodes crashed."""
    plan = PLANS[name]
    procedure = procedure_of(plan)
    returns = [returns[place % len(returns)] for place in range(MOST)]
    rewards: dict[int, Any] = {}
    if plan.procedure == "online":
        quota = 4 if plan.parameters.get("episodes") else 1
        rewards = {unit: np.array(returns[4 * unit : 4 * unit + 4]) for unit in range(3)}
        places = [(unit, k) for unit in range(3) for k in range(quota)]
    elif isinstance(procedure, Training):
        places = [(0, k) for k in (*range(6), *range(procedure.first, procedure.first + 6))]
    else:
        places = [(unit, 0) for unit in range(6)]
    rows = [
        Row(unit, 0, k, "ok" if n >= lost else "crashed", False, 0, returns[n], 2, 0, 0, "")
        for n, (unit, k) in enumerate(places)
    ]
    result = scored(plan, rows, rewards)
    return result.with_episodes(list(with_cells(plan, rows)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("name", PLANS)
@given(returns=st.lists(WIDE, min_size=1, max_size=MOST), lost=st.sampled_from([0, 0, 2]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_result_that_is_written_can_be_read(
    folder: Path, name: str, returns: list[float], lost: int
) -> None:
    result = made(name, returns, lost)
    path = result.write(folder)
    json.loads(path.read_text(), parse_constant=pytest.fail)
    assert read_result(path).with_episodes(result.episodes) == result
    assert str(result)


@pytest.mark.parametrize("name", PLANS)
@given(st.lists(WIDE, min_size=1, max_size=MOST), st.lists(WIDE, min_size=1, max_size=MOST))
@settings(max_examples=60)
def test_a_comparison_is_of_numbers(name: str, ours: list[float], theirs: list[float]) -> None:
    check(compare(made(name, ours), made(name, theirs)))


@given(st.lists(WIDE, min_size=60, max_size=60))
@settings(max_examples=20, deadline=None)
def test_training_seeds_are_compared_in_numbers(returns: list[float]) -> None:
    runs = [made("multi-task", returns[6 * n : 6 * n + 6]) for n in range(10)]
    seeds = [
        run.model_copy(update={"agent": run.agent.model_copy(update={"training_seed": n})})
        for n, run in enumerate(runs)
    ]
    check(compare_agents(seeds[:5], seeds[5:]))
    found = over_training_seeds(seeds[:5], rng=np.random.default_rng(0))
    numbers = [found.mean, found.iqm, *(found.mean_interval95 or ()), *found.thresholds]
    assert np.isfinite([*numbers, *found.rates.ravel(), *found.profile]).all()


def check(found: Difference) -> None:
    numbers = [found.difference, *(found.interval95 or ()), *found.difference_per_task.values()]
    assert np.isfinite(numbers).all()
    assert found.p_value is None or 0 <= found.p_value <= 1
    if found.interval95 is not None:
        assert found.interval95[0] <= found.difference <= found.interval95[1]


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("name", ["multi-task", "evaluate", "online", "online, of steps"])
def test_large_and_tiny_returns_have_an_interval(name: str, size: float) -> None:
    returns = [0.5 * size, 2.5 * size, -1.5 * size, size, size, -size]
    ordinary = made(name, [each / size for each in returns]).interval95
    interval = made(name, returns).interval95
    assert ordinary is not None
    assert interval is not None
    assert [end / size for end in interval] == pytest.approx(ordinary)


@pytest.mark.parametrize("returns", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize("name", PLANS)
def test_a_result_is_drawn_and_printed(folder: Path, name: str, returns: Sequence[float]) -> None:
    result, other = made(name, returns), made(name, [each / 3 for each in returns])
    draw_report([("a", result), ("b", other)]).write(folder / "report.html")
    text = StringIO()
    print_summary(Console(file=text, width=200), result)
    assert "nan" not in text.getvalue()
    assert "inf" not in text.getvalue()


def test_a_result_with_nan_is_refused_by_name(folder: Path) -> None:
    """As one that an earlier version wrote, whose interval was null."""
    result = made("multi-task", [1.0, 2.0, 3.0])
    score = result.score_as(ReturnScore)
    with pytest.raises(ValidationError):
        ReturnScore(**{**score.model_dump(), "mean_return": float("nan")})
    path = result.write(folder)
    path.write_text(path.read_text().replace(str(score.mean_return), "NaN", 1))
    with raises(UsageError, str(path), "mean_return"):
        read_result(path)


def test_arguments_of_environments_may_be_nan() -> None:
    result = made("multi-task", [1.0])
    asked = Result(**{**dict(result), "environment_args": {"a": float("nan"), "b": [-np.inf, 1.5]}})
    assert asked.environment_args == {"a": "nan", "b": ["-inf", 1.5]}
    assert Result.model_validate_json(asked.model_dump_json(by_alias=True)) == asked

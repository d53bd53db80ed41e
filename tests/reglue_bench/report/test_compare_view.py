"""The report of several runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import UsageError
from reglue_bench.formatting import points
from reglue_bench.measures.compare import compare_all
from reglue_bench.plots.figures import Rows, colour
from reglue_bench.report.page import draw_report
from reglue_bench.report.page_contents import comparison_view
from reglue_bench.results.result import Result
from tests.error_facts import raises
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_bench.report.test_run_view import Page, read


def three() -> list[Result]:
    rates = {"sac": 0.8, "mtmhsac": 0.9, "random": 0.02}
    return [make_result(Play(label=name, rate=rate)) for name, rate in rates.items()]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of the three."""
    names = [each.agent.label for each in three()]
    return read(tmp_path_factory.mktemp("three"), *three(), names=names)


def test_runs_are_compared_with_the_first(page: Page) -> None:
    found = compare_all(three())
    assert "3 runs on MT10" in page.text
    assert "Compared with sac" in page.text
    assert points(found[1, 0].difference) in page.text
    assert points(found[2, 0].difference) in page.text


def test_the_first_run_has_no_difference_to_itself() -> None:
    view = comparison_view([(r.agent.label, r) for r in three()])
    assert view.runs.columns == ["run", "success", "Δ to the first", "p, Holm"]
    first, second, _ = view.runs.rows
    assert first[2:] == ["–", "–"]
    assert second[2].startswith("+")


def test_goals_are_mapped_by_who_does_better(page: Page) -> None:
    sac, _, random = three()
    squares = {each.colour: len(each.x) for each in page.figures["compare-2"].marks}
    pairs = list(zip(random.episodes, sac.episodes, strict=True))
    assert squares[f"{colour(2)}ff"] == sum(a.success > b.success for a, b in pairs)
    assert squares[f"{colour(0)}ff"] == sum(a.success < b.success for a, b in pairs)


def test_tasks_are_told_apart_by_a_band_behind_every_second_row(page: Page) -> None:
    """Where a row has a dot of each agent."""
    rows = [page.figures[plot].y for plot in ("compare-tasks", "run-0-tasks")]
    assert [isinstance(each, Rows) and each.striped for each in rows] == [True, False]


def test_every_run_has_its_own_part_of_the_page(page: Page) -> None:
    assert {f"run-{place}-tasks" for place in range(3)} <= set(page.figures)


def test_one_seed_of_each_agent_shows_no_performance_profile(page: Page) -> None:
    assert "profile" not in page.figures


def test_training_seeds_of_one_agent_are_taken_together(tmp_path: Path) -> None:
    runs = [make_result(Play(label="sac", rate=0.8, training_seed=seed)) for seed in range(3)]
    page = read(tmp_path, *runs)
    assert "interquartile mean" in page.text
    assert "probability of improvement" not in page.text.split("How to read this")[0]  # of one
    assert "0, 1, 2" in page.text
    assert "profile" in page.figures


def test_agents_are_judged_over_their_training_seeds() -> None:
    runs = [
        make_result(Play(label=label, rate=rate + 0.02 * seed, training_seed=seed))
        for label, rate in (("sac", 0.3), ("mtmhsac", 0.8))
        for seed in range(5)
    ]
    view = comparison_view([(f"{place}", run) for place, run in enumerate(runs)])
    assert view.seeds is not None
    assert view.seeds.verdict == "mtmhsac has the highest success: better than sac (p < 0.001)."
    assert not view.verdict  # no training seed is ranked


def test_json_compares_agents_over_their_training_seeds() -> None:
    """No pair of single seeds says which agent is better."""
    runs = [
        make_result(Play(label=label, rate=rate + 0.02 * seed, training_seed=seed))
        for label, rate in (("sac", 0.8), ("ppo", 0.3))
        for seed in range(5)
    ]
    page = draw_report([(f"{place}", run) for place, run in enumerate(runs)])
    assert page.comparison is not None
    seeds = page.comparison.seeds
    assert seeds is not None
    found = json.loads(page.document([Path("run")] * len(runs), runs))["over_training_seeds"]
    assert found["verdict"] == seeds.verdict
    assert [each["agent"] for each in found["agents"]] == ["sac", "ppo"]
    assert found["agents"][0]["seeds"] == [0, 1, 2, 3, 4]
    assert found["agents"][0]["mean_interval95"] == [*(seeds.agents["sac"].mean_interval95 or ())]
    [pair] = found["comparisons"]
    assert (pair["agent"], pair["reference"]) == ("ppo", "sac")
    assert pair["difference"] == seeds.differences[1, 0].difference
    assert pair["p_value"] == seeds.differences[1, 0].p_value


def test_runs_of_different_plans_say_what_they_were_paired_on(tmp_path: Path) -> None:
    short = make_result(Play(goals=10, plan="ab" * 32))
    text = read(tmp_path, make_result(), short, names=["long", "short"]).text
    assert "short and long played different plans: they are paired on the 100 goals" in text


def test_runs_with_nothing_in_common_are_shown_and_not_compared(tmp_path: Path) -> None:
    other = make_result(Play(benchmark="ML1", tasks=["other-v3"], plan="ab" * 32))
    text = read(tmp_path, make_result(), other, names=["one", "other"]).text
    assert "other and one have no goal in common" in text


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    text = read(tmp_path, make_result(), make_result(Play(rate=0.5)), names=["a", "a"]).text
    assert "a (2)" in text


def test_a_tie_names_nobody_as_the_best() -> None:
    tasks: dict[str, Any] = {"tasks": ["t"], "goals": 12}
    left, right = (make_result(Play(label=n, rate=0.5, **tasks)) for n in ("left", "right"))
    wins = sum(row.success for row in left.episodes)
    other = [replace(row, success=place < wins) for place, row in enumerate(right.episodes)]
    score = right.score.model_copy(update={"mean_success_rate": left.mean_success_rate})
    tied = right.model_copy(update={"score": score})
    tied = tied.with_episodes(other)
    assert verdicts(left, tied)[0] == "left and right have the same success."


def test_a_partial_run_is_compared_and_not_ranked() -> None:
    whole, part = make_result(Play(label="whole", rate=0.3)), Play(label="part", missing=5)
    said, *notes = verdicts(whole, make_result(part))
    assert said == ""
    assert "part is partial, and is not ranked." in notes


def test_an_interval_that_excludes_0_says_why_its_pair_is_not_significant() -> None:
    rates = {"a": 0.80, "b": 0.86, "c": 0.83, "d": 0.83, "e": 0.83}
    view = comparison_view(
        [(n, make_result(Play(label=n, rate=r, tasks=["t"], goals=200))) for n, r in rates.items()]
    )
    told = []
    for name, _, difference, p in view.runs.rows[1:]:
        low, high = difference.splitlines()[1].split(" to ")
        excludes = low.startswith("+") or high.startswith("−")
        explained = any(f"interval of {name} and a excludes 0" in n for n in view.notes)
        assert explained == (excludes and float(p.replace("< ", "")) >= 0.05)
        told.append(explained)
    assert {*told} == {True, False}


def verdicts(*results: Result) -> list[str]:
    """Who is the best, and what to beware of, of runs called by their labels."""
    view = comparison_view([(result.agent.label, result) for result in results])
    return [view.verdict, *view.notes]


def test_the_best_is_named_with_those_that_it_beats_and_those_it_may_not() -> None:
    best, level = (
        make_result(Play(label=name, rate=rate)) for name, rate in (("b", 0.9), ("l", 0.88))
    )
    poor = make_result(Play(label="p", rate=0.02))
    assert verdicts(poor, level, best)[0] == (
        "b has the highest success: better than p (p < 0.001, corrected for 3 pairs), but not "
        "significantly better than l."
    )


def test_those_that_are_alike_lead_together() -> None:
    one, poor = make_result(Play(label="one", rate=0.9)), make_result(Play(label="poor", rate=0.02))
    two = one.model_copy(update={"agent": one.agent.model_copy(update={"label": "two"})})
    said, note = verdicts(one, poor, two)
    assert said.startswith("one and two, alike on every goal, have the highest success: better")
    assert note == "two and one came to the same on every goal."
    assert verdicts(one, two) == ["", note]


def test_privileged_agents_are_not_ranked() -> None:
    told = make_result(Play(label="told", rate=2.0)).model_copy(update={"privileged": True})
    one, two = (make_result(Play(label=f"{rate}", rate=rate)) for rate in (0.8, 0.02))
    assert verdicts(told, one, two)[0].startswith("0.8 has the highest success")


def test_too_few_goals_are_told_with_how_many_would_do() -> None:
    best, poor = (
        make_result(Play(tasks=["t"], goals=4, label=f"{r}", rate=r)) for r in (2.0, -1.0)
    )
    said, *notes = verdicts(poor, best)
    assert said == "2.0 has the highest success: not significantly better than -1.0."
    assert notes[-1] == "With 4 goals no difference can be significant, however large. It takes 5."


def test_each_is_compared_with_each(tmp_path: Path, page: Page) -> None:
    assert "random − mtmhsac" in page.text
    assert "Each with each" not in read(tmp_path, *three()[:2]).text


def test_a_page_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with raises(UsageError, tmp_path / "report.html", "Is a directory"):
        draw_report([("", make_result())]).write(tmp_path / "report.html")
    assert [*tmp_path.iterdir()] == [tmp_path / "report.html"]


def test_pairs_of_runs_name_their_columns_at_each_cell_for_narrow_screens(page: Page) -> None:
    columns = [attrs.get("data-column") for _, attrs in page.elements]
    assert columns.count("95 % interval") == 3
    assert columns.count("p, Holm") == 6  # a run each, and a pair each

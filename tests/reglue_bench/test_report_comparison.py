"""The report of several runs."""

from __future__ import annotations

from pathlib import Path

from reglue_bench.comparison import compare_all
from reglue_bench.report.compare_view import comparison_view
from reglue_bench.report.words import points
from reglue_bench.result import Result
from tests.reglue_bench.results import Play, make_result
from tests.reglue_bench.test_report import read


def three() -> list[Result]:
    rates = {"sac": 0.8, "mtmhsac": 0.9, "random": 0.02}
    return [make_result(Play(label=name, rate=rate)) for name, rate in rates.items()]


def test_runs_are_compared_with_the_first(tmp_path: Path) -> None:
    page = read(tmp_path, *three(), names=["sac", "mtmhsac", "random"])
    found = compare_all(three(), seed=0)
    assert "3 runs on MT10" in page.text
    assert "Compared with sac" in page.text
    assert points(found[1, 0].difference) in page.text
    assert points(found[2, 0].difference) in page.text


def test_the_first_run_has_no_difference_to_itself() -> None:
    first, second, _ = comparison_view([(r.agent.label, r) for r in three()], seed=0).rows
    assert (first.difference, first.p_value) == ("", "")
    assert second.difference.startswith("+")


def test_goals_are_mapped_by_who_does_better(tmp_path: Path) -> None:
    sac, _, random = three()
    squares = read(tmp_path, *three()).figures["compare-2-figure"]["data"][0]["z"]
    pairs = zip(random.episodes, sac.episodes, strict=True)
    assert sum(map(sum, squares)) == sum(ours.success - theirs.success for ours, theirs in pairs)


def test_every_run_has_its_own_part_of_the_page(tmp_path: Path) -> None:
    page = read(tmp_path, *three())
    assert {f"run-{place}-tasks-figure" for place in range(3)} <= set(page.figures)


def test_one_seed_of_each_agent_shows_no_performance_profile(tmp_path: Path) -> None:
    assert "profile-figure" not in read(tmp_path, *three()).figures


def test_training_seeds_of_one_agent_are_taken_together(tmp_path: Path) -> None:
    runs = [make_result(Play(label="sac", rate=0.8, training_seed=seed)) for seed in range(3)]
    page = read(tmp_path, *runs)
    assert "interquartile mean" in page.text
    assert "0, 1, 2" in page.text
    assert "profile-figure" in page.figures


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


def test_a_difference_without_spread_is_not_passed_off_as_certain(tmp_path: Path) -> None:
    best = make_result(Play(label="best", rates={}, rate=2.0))
    worst = make_result(Play(label="worst", rate=-1.0))
    assert "shows no spread" in read(tmp_path, best, worst).text

"""The submission of each team that is ranked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reglue_bench.results.result import Result
from reglue_competition.ranking import (
    choose_submissions,
)
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_competition.ranking.test_ranks import ONE, entry, played, ranks


@pytest.mark.parametrize(
    "result",
    [make_result(Play(missing=3)), make_result(Play(privileged=["goal"]))],
    ids=["partial", "privileged"],
)
def test_partial_and_privileged_submissions_are_never_chosen(result: Result) -> None:
    assert choose_submissions([entry("A", result)], ONE, "best") == []


def test_what_a_phase_tells_everybody_is_no_privilege() -> None:
    told = replace(
        entry("A", make_result(Play(privileged=["tasks"]))), may_know=frozenset(["tasks"])
    )
    assert choose_submissions([told], ONE, "best") == [told]


def test_a_teams_best_or_last_submission_is_chosen() -> None:
    first, best, last = (
        entry("A", make_result(Play(rate=rate)), order=order)
        for order, rate in enumerate((0.5, 0.9, 0.7))
    )
    entries = [last, first, best]
    assert choose_submissions(entries, ONE, "best") == [replace(best, tries=3)]
    assert choose_submissions(entries, ONE, "last") == [last]


def test_a_teams_choice_counts_and_until_then_its_last() -> None:
    first, second, last = (
        entry("A", make_result(Play(rate=rate)), order=order)
        for order, rate in enumerate((0.5, 0.9, 0.7))
    )
    for chosen in (first, second, last):
        mine = replace(chosen, is_chosen=True)
        entries = [mine if each is chosen else each for each in (last, first, second)]
        (found,) = choose_submissions(entries, ONE, "team")
        assert (found, found.chosen_by("team")) == (replace(mine, tries=3), "team")
        withdrawn = [
            replace(each, standing="withdrawn") if each is mine else each for each in entries
        ]
        (found,) = choose_submissions(withdrawn, ONE, "team")
        rest = [each for each in (first, second, last) if each is not chosen]
        assert (found, found.chosen_by("team")) == (replace(rest[-1], tries=3), "default")


def test_what_a_team_chooses_is_the_best_of_its_tries() -> None:
    """Its p-value is multiplied by them as where the best counts by itself."""
    good, bad, rival = played("A", 0.85), played("A", 0.1), played("B", 0.83)
    tries = [replace(bad, order=float(n), submission=f"A{n}") for n in range(1, 20)]
    assert ranks([good, rival]) == {"A": 1, "B": 2}
    best = choose_submissions([good, *tries, rival], ONE, "best")
    by_team = choose_submissions([replace(good, is_chosen=True), *tries, rival], ONE, "team")
    assert [each.submission for each in best] == [each.submission for each in by_team]
    assert ranks(best) == ranks(by_team) == {"A": 1, "B": 1}


def test_the_earliest_of_a_teams_equal_submissions_is_chosen() -> None:
    same = make_result()
    entries = [entry("A", same, order=order) for order in (2.0, 1.0, 3.0)]
    assert choose_submissions(entries, ONE, "best")[0].order == 1.0

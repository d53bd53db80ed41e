from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from reglue_competition.definition import PhaseState, changes
from tests.reglue_competition.competitions import AFTER, CLOSES, definition, phase, private

LATER = CLOSES + timedelta(days=1)
QUOTAS = {"a_day": 5, "at_once": 1, "in_all": None}


def refused(state: PhaseState, *phases: dict[str, Any], **whole: Any) -> list[str]:
    """The changes that are refused if the first phase is in this state."""
    before = definition(phase(quotas=QUOTAS), private())
    now = definition(*(phases or (phase(quotas=QUOTAS), private())), **whole)
    return changes(before, now, {"public": state, "private": "planned"})


def quotas(**changed: int | None) -> dict[str, Any]:
    return phase(quotas=QUOTAS | changed)


def test_a_planned_competition_may_change_altogether() -> None:
    assert refused("planned", phase("other"), name="other", play={"step_s": 1.0}) == []


@pytest.mark.parametrize("state", ["open", "closed"])
@pytest.mark.parametrize(
    "whole",
    [
        {"title": "Another"},
        {"address": "example.org:1"},
        {"page": {"about": "More."}},
        {"play": {"places": 7}},
        {"quotas": {"a_day": 1}},  # the open phase has its own
    ],
)
def test_what_changes_no_score_may_change_at_any_time(
    state: PhaseState, whole: dict[str, Any]
) -> None:
    assert refused(state, **whole) == []


def test_an_open_phase_may_close_later_and_allow_more() -> None:
    later = private() | {"opens": LATER}
    assert refused("open", quotas(a_day=6, at_once=None) | {"closes": LATER}, later) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"closes": CLOSES - timedelta(days=1)}, "or later once the phase has opened"),
        ({"opens": CLOSES - timedelta(days=9)}, "phases.public.opens: may not change"),
        ({"kind": "practice"}, "phases.public.kind: may not change"),
        ({"name": "other"}, "public is open and cannot be removed or renamed"),
        ({"benchmarks": [{"benchmark": "MT10"}]}, "phases.public.benchmarks: may not change"),
        ({"cells": "own"}, "phases.public.cells: may not change"),
        ({"freeze_at": CLOSES - timedelta(days=1)}, "phases.public.freeze_at: may not change"),
        ({"names": "after_close"}, "phases.public.names: may not change"),
        (
            {"tracks": [{"name": "x", "benchmarks": [1]}]},
            "phases.public.tracks: may not change",
        ),
        (quotas(a_day=4), "phases.public.quotas.a_day: got 4, wanted 5 or more"),
        (quotas(in_all=9), "phases.public.quotas.in_all: got 9, wanted no limit"),
    ],
)
def test_an_open_phase_stays_as_it_is_else(changed: dict[str, Any], words: str) -> None:
    (told,) = refused("open", phase(quotas=QUOTAS) | changed, private())
    assert words in told


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        ({"play": {"step_s": 1.0}}, "play.step_s: got 1.0, wanted 10.0"),
        ({"agents_see": {"rewards": True}}, "agents_see.rewards: got True, wanted False"),
        ({"ranking": {"choose": "last"}}, "ranking.choose: got last, wanted best"),
        ({"name": "other"}, "name: got other, wanted test"),
    ],
)
def test_limits_and_ranking_stay_while_a_phase_is_open(whole: dict[str, Any], words: str) -> None:
    (told,) = refused("open", **whole)
    assert words in told


def test_between_phases_limits_may_change_and_a_closed_phase_may_be_prolonged_alone() -> None:
    assert refused("closed", play={"step_s": 1.0}, agents_see={"rewards": True}) == []
    assert refused("closed", ranking={"choose": "last"})
    longer = phase(quotas=QUOTAS, closes=LATER)
    assert refused("closed", longer, private() | {"opens": LATER}) == []
    assert refused("closed", longer | {"cells": "own"}, private() | {"opens": LATER})
    assert refused("closed", phase(quotas=QUOTAS, closes=CLOSES - timedelta(days=1)), private())


def test_a_phase_that_is_planned_may_change_while_another_is_open() -> None:
    assert refused("open", phase(quotas=QUOTAS), private(closes=AFTER + timedelta(days=9))) == []
    assert refused("open", phase(quotas=QUOTAS)) == []

"""Tasks are admitted if they are exact, solvable and not too easy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reglue_bench.rehearsal import Check
from reglue_bench.runs.observer import NullObserver
from reglue_competition.phase_admission import admission
from reglue_competition.phases import Secrets, plan_phase
from tests.reglue_competition.competitions import definition, phase

FILE = """
from dataclasses import replace

import numpy as np

from reglue import Box
from tests.worlds import Corridor, Walk


class Even(Corridor):  # half of its goals are reached, whatever an agent does
    def __init__(self) -> None:
        super().__init__(solved={"walk": [1, 0]})


class Drifting(Even):
    def world(self) -> Walk:
        walk = super().world()
        begin = walk.start
        walk.start = lambda cell: {"observation": begin(cell)["observation"] + np.random.rand()}
        return walk


class Brittle(Even):
    # Its actions have no bounds; those that are too large raise an error.

    def __init__(self) -> None:
        super().__init__()
        (action,) = self.spec.actions
        self.spec = replace(self.spec, actions=(replace(action, domain=Box()),))

    def world(self) -> Walk:
        walk = super().world()
        step = walk.step
        walk.step = lambda action: step(action) if abs(action["action"][0]) < 1e30 else 1 / 0
        return walk


class Noisy(Even):
    repeatable = False


class Broken(Even):
    def world(self) -> Walk:
        raise OSError("no such map")


def agent(observations):
    return np.zeros((len(observations), 1))
"""


def checks(
    folder: Path,
    world: str,
    *,
    procedure: str = "multi-task",
    cells: str = "shared",
    options: Mapping[str, Any] | None = None,
    **bars: Any,
) -> list[Check]:
    """Of the one benchmark of a phase."""
    (folder / "hidden.py").write_text(FILE)
    entry: Mapping[str, Any] = {
        "benchmark": f"{procedure}:hidden.py:{world}",
        "options": {"num_episodes": 4, **(options or {})},
        "admit": bars,
    }
    return checks_of(folder, entry, cells)


def checks_of(folder: Path, entry: Mapping[str, Any], cells: str = "shared") -> list[Check]:
    """Of a phase's one benchmark, which has this entry."""
    whole = definition(phase(benchmarks=[entry], cells=cells))
    secrets = Secrets.create(folder / "secrets")
    (drawn,) = plan_phase(whole, whole.phases[0], secrets, folder)
    drawn = replace(drawn, settings=drawn.settings.model_copy(update={"workers": 0}))
    return list(admission(drawn, NullObserver()))


def test_a_task_is_admitted_within_its_bars(tmp_path: Path) -> None:
    bars: Any = {"reference": "hidden.py:agent", "reference_at_least": 0.5, "random_below": 0.6}
    found = checks(tmp_path, "Even", **bars)
    assert [check.passed for check in found] == [True, True, True, True]
    assert found[0].what.startswith("4 episodes are the same to the bit")
    assert found[3].what == "hidden.py:agent scores 0.5, wanted 0.5 or more"


def test_one_that_is_too_easy_or_cannot_be_solved_is_not(tmp_path: Path) -> None:
    bars: Any = {"reference": "hidden.py:agent", "reference_at_least": 0.9, "random_below": 0.5}
    assert [check.passed for check in checks(tmp_path, "Even", **bars)] == [
        True,
        True,
        False,
        False,
    ]


def test_without_bars_scores_are_remarks(tmp_path: Path) -> None:
    assert [check.passed for check in checks(tmp_path, "Even")] == [True, True, None, None]


@pytest.mark.parametrize(
    ("world", "why"), [("Drifting", "not deterministic"), ("Broken", "OSError: no such map")]
)
def test_one_that_is_not_exact_is_played_by_nobody(tmp_path: Path, world: str, why: str) -> None:
    (check,) = checks(tmp_path, world)
    assert check.passed is False
    assert why in check.what


def test_episodes_of_one_that_is_not_repeatable_are_not_compared(tmp_path: Path) -> None:
    options = {"worst_performance": -9.0}
    first, *rest = checks(tmp_path, "Noisy", procedure="evaluate", cells="own", options=options)
    assert first.passed is None
    assert "not repeatable" in first.what
    assert [check.passed for check in rest] == [True, None, None]


def test_one_that_an_agent_can_make_fail_is_not(tmp_path: Path) -> None:
    _, check, *_ = checks(tmp_path, "Brittle")
    assert check.passed is False
    assert "ZeroDivisionError" in check.what
    assert "e+38" in check.what


@pytest.mark.parametrize(("most", "is_beside"), [(2, True), (1, False)])
def test_an_environment_of_a_server_is_compared_as_far_as_its_places_go(
    tmp_path: Path, most: int, is_beside: bool
) -> None:
    from tests.reglue.bridges.openenv_servers import Game, app_of, served

    with served(app_of(Game, most)) as url:
        options = {"num_episodes": 4, "slots": 1, "episode_limit": 10, "worst_performance": -10}
        entry = {"benchmark": f"evaluate:openenv:{url}", "options": options}
        exact, robust, random, _ = checks_of(tmp_path, entry)
    assert exact.passed
    assert ("but beside another episode" not in exact.what) == is_beside
    assert robust.passed
    assert "scores" in random.what

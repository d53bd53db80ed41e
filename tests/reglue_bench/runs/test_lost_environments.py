"""An environment that connects by itself, and that an agent kills: nobody sees a cell again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reglue_bench import evaluate
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import LedgerReader
from tests.cheats.cheat_pairs import PLANS
from tests.cheats.cheat_world import Breakable, Player
from tests.reglue_bench.remote import WORLDS, dialling, kept_up

pytestmark = pytest.mark.slow

PROCEDURES = ("multi-task", "evaluate", "meta-learning", "online")


def options_of(procedure: str) -> dict[str, Any]:
    slots = {"meta-learning": "meta_batch_size", "online": ""}.get(procedure, "slots")
    plan = {name: value for name, value in PLANS[procedure].items() if name != "environment_args"}
    more = {"num_episodes": 8} if "num_episodes" in plan else {}
    more |= {"runs": 4, "episodes": 6} if procedure == "online" else {}
    more |= {slots: 2} if slots else {}
    return {**plan, **more, "seed": 3, "raise_faults": False, "repeat_check": False}


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_one_that_comes_back_plays_the_recorded_actions_first(procedure: str) -> None:
    """The run is that over workers, whose processes are replaced, too."""
    cheat = Player(1, "crashes")
    with kept_up(f"{WORLDS}:Breakable") as watcher:
        there = evaluate(f"{procedure}:wait", agent=cheat, watcher=watcher, **options_of(procedure))
    name = f"{Breakable.__module__}:{Breakable.__qualname__}"
    here = evaluate(
        f"{procedure}:{name}", agent=Player(1, "crashes"), workers=1, **options_of(procedure)
    )
    assert (cheat.cheated > 0, cheat.met_again) == (True, 0)
    assert came_of(there) == came_of(here)
    assert there.ended_early is None


def came_of(result: Result) -> list[Any]:
    return [(row.unit, row.k, row.attempt, row.status, row.return_) for row in result.episodes]


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_one_that_is_lost_for_good_is_played_again_without_the_agent_by_the_next_session(
    procedure: str, tmp_path: Path
) -> None:
    """However often somebody resumes the run: the agent that killed it has lost those episodes."""
    cheat, sessions = Player(1, "crashes"), 0
    options = options_of(procedure) | {"out": tmp_path / "run", "reconnect_window": 0.0}
    while True:
        with dialling(f"{WORLDS}:Breakable") as (watcher, _):
            result = evaluate(
                f"{procedure}:wait", agent=cheat, watcher=watcher, resume=sessions > 0, **options
            )
        sessions += 1
        if result.ended_early is None:
            break
        assert sessions < 20
    assert cheat.cheated > 0
    assert cheat.met_again == 0
    assert result.complete
    assert result.status_counts["crashed"] >= 1


def test_a_loss_that_no_action_brings_about_is_another_try(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    words = (f"fuse={fuse}", "dies=7", 'solved={"walk": [0, 1, 2, 0]}')
    options: dict[str, Any] = {"agent": "tests.reglue_bench.agents:Seeded", "slots": 2}
    options |= {"num_episodes": 8, "out": tmp_path / "run", "raise_faults": False}
    options |= {"reconnect_window": 0.0}
    with dialling(f"{WORLDS}:Mortal", *words) as (watcher, _):
        first = evaluate("multi-task:wait", watcher=watcher, **options)
    lost = first.status_counts["environment_lost"]
    assert 1 <= lost <= 2
    with dialling(f"{WORLDS}:Mortal", *words) as (watcher, _):
        again = evaluate("multi-task:wait", watcher=watcher, resume=True, **options)
    assert again.complete
    assert lost <= again.episodes_retried <= 2, "one that nobody has seen may have begun, too"
    with LedgerReader(tmp_path / "run") as ledger:
        assert {row.status for row in ledger.rows()} == {"ok"}

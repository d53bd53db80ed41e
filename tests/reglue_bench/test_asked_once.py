"""No agent plays a planned episode again because of something that it brought about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reglue_bench import Result
from reglue_bench.evaluation import evaluate
from reglue_bench.results.scoring import read_run
from reglue_competition.runs.submission import Ended, RunEnded
from reglue_competition.transcript.verification import verify
from tests.reglue_bench.perilous import RAW, Gambler, Perilous
from tests.reglue_bench.toys import rows
from tests.reglue_competition.runs.corridor_submissions import (
    heard,
    joined,
    playing,
    settings,
    told,
)

NAME = f"{Perilous.__module__}:{Perilous.__qualname__}"
PLANS: dict[str, dict[str, Any]] = {
    "evaluate": {"num_episodes": 40, "slots": 4},
    "multi-task": {"num_episodes": 40, "slots": 4},
    "meta-learning": {"num_evals": 4, "evaluate_before_adaptation": True},
    "online": {"runs": 6, "episodes": 3, "worst_performance": 0.0},
}
STATUS = {"illegal": "agent_error", "gives up": "agent_abandoned"}


def played(procedure: str, how: str, *, cheat: bool, **more: Any) -> tuple[Result, Gambler]:
    agent = Gambler(cheat=cheat, abandons=how == "gives up")
    result = evaluate(
        f"{procedure}:{NAME}",
        agent=agent,
        environment_args={"how": how},
        raise_faults=False,
        **{"workers": 0, "repeat_check": False, **PLANS[procedure], **more},
    )
    return result, agent


def check_nothing_is_gained(procedure: str, how: str, **more: Any) -> None:
    """A cheat's rows are those of the same agent that is honest, but for what it lost."""
    honest, _ = played(procedure, how, cheat=False, **more)
    cheat, agent = played(procedure, how, cheat=True, **more)
    assert len(set(agent.seeds)) == len(agent.seeds), "it met an episode twice"
    assert cheat.episodes_retried == 0
    assert STATUS.get(how, "crashed") in cheat.status_counts
    assert cheat.complete
    of_cheat, of_honest = cheat.score.value, honest.score.value
    assert of_cheat is not None
    assert of_honest is not None
    assert of_cheat <= of_honest
    if procedure in ("evaluate", "multi-task"):
        lost = [row for row in cheat.episodes if row.status != "ok"]
        assert not any(row.success for row in lost)
        won = [(row.task, row.variant, row.repeat) for row in cheat.episodes if row.success]
        assert won == [(r.task, r.variant, r.repeat) for r in honest.episodes if r.success]
        assert of_cheat == of_honest  # what it lost it had lost anyhow


@pytest.mark.parametrize("how", [*RAW, "gives up"])
@pytest.mark.parametrize("procedure", PLANS)
def test_who_makes_its_environment_fail_gains_nothing(procedure: str, how: str) -> None:
    check_nothing_is_gained(procedure, how)


@pytest.mark.parametrize("how", ["raises", "crashes"])
def test_nor_does_it_in_processes(how: str) -> None:
    check_nothing_is_gained("multi-task", how, workers=2, num_episodes=8)


def test_nor_where_a_run_s_environment_dies_of_it() -> None:
    check_nothing_is_gained("online", "crashes", workers=1, runs=3)


def test_nor_where_it_hangs() -> None:
    check_nothing_is_gained(
        "evaluate", "hangs", workers=1, slots=1, num_episodes=5, environment_timeout=3.0
    )


def test_nor_by_being_asked_its_first_turns_again() -> None:
    """At the run's end, when all is scored."""
    plain, agent = played("multi-task", "raises", cheat=True)
    checked, again = played("multi-task", "raises", cheat=True, repeat_check=True)
    assert len(again.seeds) > len(agent.seeds) == 40
    assert again.seeds[:40] == agent.seeds
    assert rows(checked) == rows(plain)


@pytest.mark.parametrize("how", ["raises", "crashes"])
def test_nor_in_a_competition_whose_transcript_says_what_happened(how: str, tmp_path: Path) -> None:
    of_phase = settings(
        benchmark=f"multi-task:{NAME}", environment_args={"how": how}, num_episodes=12
    ).model_copy(update={"repeat_check": False})  # as a competition's are
    agent = Gambler(cheat=True)
    with playing(told(tmp_path, of_phase)) as process, joined(process.join_string, agent):
        run = heard(process, RunEnded)
        assert heard(process, Ended).status == "finished"
        process.let_go("thank you")
        process.end(20.0)
    assert len(set(agent.seeds)) == len(agent.seeds) == 12
    result = read_run(tmp_path / "0")
    wins = result.status_counts["ok"]
    assert result.status_counts == {"crashed": 12 - wins, "ok": wins}
    assert run.score == pytest.approx(wins / 12)
    (transcript,) = (tmp_path / "transcripts").iterdir()
    verdict = verify(transcript, trust_code=True)
    assert verdict.stands, verdict.problem
    assert verdict.result is not None
    assert verdict.result.status_counts["crashed"] == 12 - wins

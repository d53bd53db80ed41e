"""A submission's process: one agent plays a phase's benchmarks in one session."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.results.result import parse_result
from reglue_bench.results.scoring import read_run
from reglue_bench.runs.run import Request, begin
from reglue_competition.runs.submission import (
    Ended,
    Progress,
    RunEnded,
    SubmissionProcess,
    run_folder,
)
from reglue_competition.transcript.verification import verify
from tests.reglue_bench.agents import Pausing, Raises, Seeded
from tests.reglue_bench.bakeoffs import wait_for_rows
from tests.reglue_competition.runs.corridor_submissions import (
    KEY,
    alone,
    heard,
    joined,
    joined_process,
    of_folder,
    playing,
    settings,
    told,
)
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]

TWO = (settings(), settings(num_episodes=3, environment_args={"solved": {"c": [2, 0]}}))
MANY = settings(num_episodes=40)
FINISHED = Ended("finished", detail="", again=False)


def ended(process: SubmissionProcess, farewell: str = "thank you") -> Ended:
    """The process's end, which is stored; its agent is let go."""
    found = heard(process, Ended)
    process.let_go(farewell)
    process.end(20.0)
    return found


def test_one_session_plays_all_benchmarks_to_the_bit_as_an_agent_alone(tmp_path: Path) -> None:
    with (
        playing(told(tmp_path / "here", *TWO)) as process,
        joined(process.join_string, Seeded()) as agent,
    ):
        first = heard(process, Progress)
        runs = [heard(process, RunEnded) for _ in TWO]
        assert ended(process, "that was all") == FINISHED
        assert agent.result(PATIENCE_S) == "that was all"
    assert first == Progress(index=0, done=0, total=12, counted_in="episodes")
    assert of_folder(tmp_path / "here", 2) == alone(tmp_path / "alone", Seeded(), "one", *TWO)
    assert [(run.index, run.status, run.owner) for run in runs] == [
        (0, "ok", ""),
        (1, "ok", ""),
    ]
    for run in runs:
        result = read_run(run_folder(tmp_path / "here", run.index))
        assert run.score == result.score.value
        assert (run.low, run.high) == result.interval95
        transcript = tmp_path / "here" / "transcripts" / f"one-{run.index}.reglue"
        key = KEY.public_key().public_bytes_raw()
        assert verify(transcript, public_key=key, trust_code=True).stands


def test_rewards_whose_sum_overflows_crash_episodes_and_no_submission(tmp_path: Path) -> None:
    """It ends as any other, with a score that can be read and verified: nothing is played again."""
    steep = settings(
        benchmark="evaluate:tests.reglue_bench.bench_worlds:Steep",
        environment_args={"solved": {"walk": [0] * 6}},
        worst_performance=-9.0,
    )
    with (
        playing(told(tmp_path / "here", steep)) as process,
        joined(process.join_string, Seeded()) as agent,
    ):
        run = heard(process, RunEnded)
        assert ended(process, "that was all") == FINISHED
        assert agent.result(PATIENCE_S) == "that was all"
    result = read_run(run_folder(tmp_path / "here", 0))
    assert result.status_counts["crashed"] > 0
    assert run.score == parse_result(run.result, "it").score.value
    transcript = tmp_path / "here" / "transcripts" / "one-0.reglue"
    assert verify(transcript, trust_code=True).stands
    assert of_folder(tmp_path / "here", 1) == alone(tmp_path / "alone", Seeded(), "one", steep)


def test_submissions_have_start_seeds_of_their_own(tmp_path: Path) -> None:
    """Neither another team's agent, nor the same again, can use what one has seen."""
    one, other = (alone(tmp_path / name, Seeded(), name, TWO[0]) for name in ("one", "other"))
    assert one != other


@pytest.mark.parametrize(
    ("agent", "status", "why"),
    [
        ("Exits", "agent_disconnected", "connection is gone"),
        ("Hangs", "agent_timeout", "within 2 s; step_s, first_step_s, bank_s and run_s of the"),
    ],
)
def test_an_agents_fault_is_final(tmp_path: Path, agent: str, status: str, why: str) -> None:
    """Missing episodes count as failures, in this and all other benchmarks."""
    two = [each.model_copy(update={"step_timeout": 2.0}) for each in TWO]
    what = told(tmp_path, *two, reconnect_window_s=0.2)
    with playing(what) as process, joined_process(process.join_string, agent):
        runs = [heard(process, RunEnded) for _ in TWO]
        found = ended(process)
    assert found.status == "failed"
    assert found.detail.startswith(status)
    assert why in found.detail
    assert "--" not in found.detail  # flags are those of other commands
    assert {(run.status, run.owner, run.score) for run in runs} == {(status, "agent", 0.0)}


def test_a_fault_is_final_until_the_organiser_has_the_rest_played(tmp_path: Path) -> None:
    """Also where the server died before it took the fault down, and the agent came back."""
    with playing(told(tmp_path, MANY)) as process, joined(process.join_string, Raises()) as agent:
        found = heard(process, Ended)
        process.leave()
        assert isinstance(agent.exception(PATIENCE_S), KeyError)
    with playing(told(tmp_path, MANY)) as process:
        assert ended(process) == found
    forgiven = told(tmp_path, MANY, forgives=True)
    with playing(forgiven) as process, joined(process.join_string, Seeded(), name="Raises"):
        assert ended(process) == FINISHED


def test_what_was_played_before_an_agent_left_for_good_is_scored(tmp_path: Path) -> None:
    """Also where another process, which was killed, has not let go of the ledger yet."""
    with playing(told(tmp_path, MANY)) as first, joined_process(first.join_string, "Pausing"):
        wait_for_rows(run_folder(tmp_path, 0), 2)
        with playing(told(tmp_path, MANY, lost="it has not come back")) as second:
            os.kill(first.pid, signal.SIGKILL)
            run = heard(second, RunEnded)
            found = ended(second)
    assert found.status == "failed"
    assert found.detail == "agent_disconnected: it has not come back"
    assert run.status == "agent_disconnected"
    assert 2 <= read_run(run_folder(tmp_path, 0)).coverage.cells_completed < 80


def test_an_agent_that_left_after_its_last_episode_has_finished(tmp_path: Path) -> None:
    """The server died between the last row and taking down how the submission ended."""
    with playing(told(tmp_path, *TWO)) as process, joined_process(process.join_string, "Seeded"):
        heard(process, Ended)
        process.leave()
    with playing(told(tmp_path, *TWO, lost="it is gone")) as process:
        assert ended(process).status == "finished"


def test_a_cancelled_submission_says_so_and_its_agent_is_told(tmp_path: Path) -> None:
    with (
        playing(told(tmp_path, MANY)) as process,
        joined(process.join_string, Pausing()) as agent,
    ):
        heard(process, Progress)
        process.cancel("the organiser has cancelled it")
        found = ended(process, "cancelled")
        assert agent.result(PATIENCE_S) == "cancelled"
    assert found.status == "cancelled"
    assert found.detail == "the organiser has cancelled it"


def test_what_is_left_is_played_by_the_next_process(tmp_path: Path) -> None:
    what = told(tmp_path / "here", MANY)
    with playing(what) as process, joined_process(process.join_string, "Pausing"):
        wait_for_rows(run_folder(tmp_path / "here", 0), 10)
        os.kill(process.pid, signal.SIGKILL)
        process.end(10.0)
    with playing(what) as process, joined(process.join_string, Seeded(), name="Pausing"):
        assert heard(process, Progress).done >= 10
        assert ended(process).status == "finished"
    assert of_folder(tmp_path / "here", 1) == alone(tmp_path / "alone", Seeded(), "one", MANY)


def test_an_agent_that_calls_itself_otherwise_does_not_play_the_rest(tmp_path: Path) -> None:
    request = Request(MANY, make_plan(MANY), nonce="one 0")
    with begin(run_folder(tmp_path, 0), request) as ledger:
        ledger.name_agent("Another")
    with playing(told(tmp_path, MANY)) as process, joined(process.join_string, Seeded()):
        found = ended(process)
    assert found.status == "failed"
    assert "this run is Another's" in found.detail


def test_an_environment_that_failed_once_goes_unnoticed(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.write_bytes(b".")
    mended = settings(
        benchmark="multi-task:tests.reglue_competition.runs.corridor_submissions:Mended",
        environment_args={"fuse": str(fuse), "solved": {"a": [1, 0]}},
    )
    with playing(told(tmp_path, mended)) as process, joined(process.join_string, Seeded()):
        assert ended(process).status == "finished"
    result = read_run(run_folder(tmp_path, 0))
    assert (fuse.read_bytes(), result.faults) == (b"", [])


def test_an_environment_that_fails_for_good_breaks_the_submission(tmp_path: Path) -> None:
    faulty = {"faults": ["raises at start", ""], "solved": {"walk": [0, 1]}}
    what = told(tmp_path, settings("Faulty", environment_args=faulty))
    with playing(what) as process, joined(process.join_string, Seeded()):
        run = heard(process, RunEnded)
        found = ended(process)
    assert found.status == "broken"
    assert "the door is stuck" in found.detail
    assert (run.status, run.owner) == ("environment_error", "environment")


def test_a_full_disk_breaks_a_submission_which_can_go_on_when_there_is_room(tmp_path: Path) -> None:
    full = run_folder(tmp_path, 0) / "result.json.tmp"
    with (
        playing(told(tmp_path, *TWO)) as process,
        joined_process(process.join_string, "Seeded") as agent,
    ):
        full.parent.mkdir(parents=True, exist_ok=True)  # the process may be first
        full.symlink_to("/dev/full")
        found = ended(process, farewell="")
        assert agent.poll() is None
    assert (found.status, found.again) == ("broken", True)
    assert "No space left" in found.detail
    with (
        playing(told(tmp_path, *TWO)) as process,
        joined(process.join_string, Seeded()),
    ):
        assert ended(process).status == "finished"

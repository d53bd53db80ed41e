"""Online benchmarks whose agents are programs: a process for each run, and what it may do."""

from __future__ import annotations

from pathlib import Path

import pytest

import reglue
from reglue_bench.evaluation import resume
from reglue_bench.results.result import read_result
from reglue_bench.runs.observer import NullObserver
from tests.reglue_bench.agents import Learner
from tests.reglue_bench.procedures.test_online import kept, score_of
from tests.reglue_bench.procedures.test_online_faults import statuses
from tests.reglue_bench.remote import Unheard
from tests.reglue_bench.runs.test_run_agents import waiting_run
from tests.reglue_bench.toys import joining, online_plan, play

pytestmark = pytest.mark.slow


def test_each_run_has_a_process_of_its_own(tmp_path: Path) -> None:
    result = play(tmp_path, online_plan(runs=3, episodes=2), agent_cmd=joining("Tells"))
    assert score_of(result).fresh_agent == "process"
    logs = [log.read_text() for log in tmp_path.glob("agent*.log")]
    printed = "".join(logs).splitlines()
    processes = [line for line in printed if line.startswith("process")]
    assert len(processes) == len(set(processes)) == 3


def test_rows_are_those_of_an_object_in_this_process(tmp_path: Path) -> None:
    plan = online_plan(runs=2, steps=12)
    play(tmp_path / "here", plan, Learner())
    play(tmp_path / "there", plan, agent_cmd=joining("Learner"))
    assert kept(tmp_path / "here") == kept(tmp_path / "there")


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        ("exits", "agent_disconnected", "exit code 3"),
        ("hangs", "agent_timeout", "within 2 s"),
        ("raises", "agent_error", "KeyError: 'coffee'"),
    ],
)
def test_a_process_that_is_lost_ends_its_run_and_the_next_has_another(
    tmp_path: Path, how: str, status: str, words: str
) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    command = joining(f"FailsOnce --agent-arg fuse={fuse} --agent-arg how={how}")
    plan = online_plan(runs=3, episodes=3)
    result = play(tmp_path / "run", plan, agent_cmd=command, step_timeout=2.0, processes=1)
    runs = score_of(result).runs
    assert statuses(runs) == [status, "ok", "ok"]
    assert [len(run.line) for run in runs] == [1, 3, 3]
    assert result.complete
    assert result.ended_early is None
    [fault] = result.faults
    assert words in fault.detail


def test_what_a_lost_process_printed_last_is_told(tmp_path: Path) -> None:
    fuse, hears = tmp_path / "fuse", Unheard()
    fuse.touch()
    command = joining(f"FailsOnce --agent-arg fuse={fuse} --agent-arg how=exits")
    play(tmp_path / "run", online_plan(runs=2), watcher=hears, agent_cmd=command)
    [said] = hears.said
    assert "out of coffee" in said
    assert "is started anew" in said


def test_a_faulted_run_is_played_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    command = joining(f"FailsOnce --agent-arg fuse={fuse} --agent-arg how=exits")
    play(tmp_path / "run", online_plan(runs=2, episodes=3), agent_cmd=command, processes=1)
    mended = resume(tmp_path / "run", NullObserver(), retry_faults="all")
    runs = score_of(mended).runs
    assert [(run.status, run.attempt) for run in runs] == [("ok", 1), ("ok", 0)]
    assert runs[0].line == runs[1].line


def test_an_agent_that_cannot_be_started_anew_ends_the_benchmark_early(tmp_path: Path) -> None:
    """Nobody played the second run, so it has no row, and `--resume` plays it."""
    permit = tmp_path / "permit"
    permit.touch()
    command = joining(f"MadeOnce --agent-arg permit={permit}")
    result = play(tmp_path / "run", online_plan(runs=3), agent_cmd=command, processes=1)
    assert statuses(score_of(result).runs) == ["ok", "missing", "missing"]
    assert result.ended_early is not None
    assert "no weights" in result.ended_early.what


def test_an_agent_that_dialled_in_plays_all_runs_from_its_init(tmp_path: Path) -> None:
    agent = Learner()
    with waiting_run(tmp_path, online_plan(runs=2, episodes=3)) as (_, address, token):
        reglue.connect(agent, address, token)
    online = score_of(read_result(tmp_path))
    assert agent.inits == 2
    assert online.fresh_agent == "agent_init"
    assert online.runs[0].line == online.runs[1].line


def test_the_same_fault_again_and_again_from_the_first_run_ends_the_benchmark(
    tmp_path: Path,
) -> None:
    """Its output is shown once and at the end, and not for each of thirty runs."""
    hears = Unheard()
    result = play(
        tmp_path,
        online_plan(runs=30),
        watcher=hears,
        agent_cmd=joining("Exits"),
        sandbox="none",
        processes=1,
    )
    assert statuses(score_of(result).runs) == ["agent_disconnected"] * 3 + ["missing"] * 27
    assert result.ended_early is not None
    assert "retry its faults" in result.ended_early.what
    assert "--" not in result.ended_early.what
    assert "out of coffee" in result.ended_early.what
    assert "\n".join(hears.said).count("out of coffee") == 1
    assert any("2 times now" in said for said in hears.said)


def test_the_same_fault_after_a_run_that_was_played_is_counted(tmp_path: Path) -> None:
    """Faults that come now and then are the agent's nature."""
    hears = Unheard()
    command = joining(f"Fading --agent-arg marks={tmp_path / 'marks'}")
    result = play(
        tmp_path / "run", online_plan(runs=5), watcher=hears, agent_cmd=command, processes=1
    )
    assert statuses(score_of(result).runs) == ["ok"] + ["agent_error"] * 4
    assert result.ended_early is None
    assert "\n".join(hears.said).count("Traceback") <= 1

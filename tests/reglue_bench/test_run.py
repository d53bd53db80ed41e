"""Runs over the corridor: rows that depend on nothing but the plan, and what resumes."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import reglue
from glue_server import Outcome
from reglue.errors import Busy, PlanDiffers, RunBusy, UsageError, WrongToken
from reglue_bench.evaluation import resume, start
from reglue_bench.ledger import FILE, Ledger
from reglue_bench.plan import Plan
from reglue_bench.result import Result, read_result
from reglue_bench.run import Request, begin, carry_out, check_same
from reglue_bench.settings import Settings
from reglue_bench.watching import Begun, Unwatched
from tests.reglue_bench.toys import Seeded, corridor_plan, play, rows

AGENTS = Path(__file__).with_name("agents.py")


# Rows depend on the plan alone.


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_are_the_same_in_worker_processes(
    tmp_path: Path, procedure: str, workers: int
) -> None:
    plan = corridor_plan(procedure, slots=4)
    here = play(tmp_path / "here", plan, Seeded())
    there = play(tmp_path / "there", plan, Seeded(), workers=workers)
    assert rows(here) == rows(there)


@pytest.mark.parametrize("slots", [1, 3, 10])
def test_rows_are_the_same_for_any_number_of_slots(tmp_path: Path, slots: int) -> None:
    one = play(tmp_path / "one", corridor_plan(slots=1), Seeded())
    many = play(tmp_path / "many", corridor_plan(slots=slots), Seeded())
    assert rows(one) == rows(many)


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
def test_rows_are_the_same_for_an_agent_in_a_process_of_its_own(
    tmp_path: Path, procedure: str
) -> None:
    plan = corridor_plan(procedure)
    here = play(tmp_path / "here", plan, Seeded())
    there = play(tmp_path / "there", plan, agent_cmd=joining("Seeded"))
    assert rows(here) == rows(there)
    assert there.agent.name == "Seeded"


def test_a_run_that_is_repeated_repeats_its_rows(tmp_path: Path) -> None:
    first, second = (play(tmp_path / name, corridor_plan(), Seeded()) for name in "ab")
    assert rows(first) == rows(second)
    assert rows(first) != rows(play(tmp_path / "c", corridor_plan(seed=1), Seeded()))


def test_every_action_is_kept(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), Seeded())
    with Ledger(tmp_path) as ledger:
        kept = [len(ledger.actions(e.unit, e.attempt, e.k)) for e in result.episodes]
    assert kept == [4 * e.steps for e in result.episodes]  # one float32 a step


def test_nothing_is_simulated_that_is_not_counted(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(slots=4), Seeded(), workers=2)
    assert result.steps.executed == result.steps.counted


# What was finished is kept; what was not is played later.


class Interrupts(Unwatched):
    """Interrupts after a number of outcomes, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self._left = after

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
def test_an_interrupted_run_resumes_to_the_same_rows(tmp_path: Path, procedure: str) -> None:
    plan = corridor_plan(procedure, slots=1)
    whole = play(tmp_path / "whole", plan, Seeded())
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    broken = start(tmp_path / "broken", request, Interrupts(len(whole.episodes) // 2))
    assert broken.ended_early is not None
    assert broken.ended_early.status == "interrupted"
    assert not broken.complete
    assert set(rows(broken)) < set(rows(whole))

    mended = continued(tmp_path / "broken", replace(request, agent=Seeded()))
    assert rows(mended) == rows(whole)
    assert mended.ended_early is None


def continued(folder: Path, request: Request) -> Result:
    with Ledger(folder) as ledger:
        check_same(ledger, request)
        return carry_out(folder, ledger, request, Unwatched())


def test_a_finished_run_plays_nothing_more(tmp_path: Path) -> None:
    plan = corridor_plan()
    first = play(tmp_path, plan, Seeded())
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    again = continued(tmp_path, request)
    assert again.model_dump(exclude={"seconds"}) == first.model_dump(exclude={"seconds"})


def test_a_run_killed_in_the_middle_resumes_to_the_same_rows(tmp_path: Path) -> None:
    """kill -9 of the process that plays, after some units were committed."""
    plan = corridor_plan(num_episodes=60, slots=1)
    whole = play(tmp_path / "whole", plan, Seeded())
    folder = tmp_path / "killed"
    request = Request(Settings(benchmark="corridor", workers=1), plan, agent=Seeded())
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.reglue_bench.test_run import *\n"
        "class Kills(Unwatched):\n"
        "    seen = 0\n"
        "    def outcome(self, outcome, phase):\n"
        "        self.seen += 1\n"
        "        if self.seen == 100: os.kill(os.getpid(), signal.SIGKILL)\n"
        "plan = Plan.from_json(sys.stdin.read())\n"
        "settings = Settings(benchmark='corridor', workers=1)\n"
        f"start(Path({str(folder)!r}), Request(settings, plan, agent=Seeded()), Kills())\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script], input=plan.to_json(), text=True, check=False, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    with Ledger(folder) as ledger:
        assert len(ledger.rows()) == 99
    assert rows(continued(folder, request)) == rows(whole)


def test_a_run_is_continued_from_the_command_lines_settings(tmp_path: Path) -> None:
    """`resume` knows the agent and the plan from the ledger."""
    plan, fault = corridor_plan(), tmp_path / "fault"
    fault.touch()
    command = joining(f"Mendable --agent-arg fault={fault} --agent-arg how=exit")
    settings = Settings(benchmark="corridor", agent_cmd=command, workers=0)
    broken = start(tmp_path / "run", Request(settings, plan), Unwatched())
    assert broken.status_counts == {"agent_disconnected": 2, "missing": 3, "ok": 1}
    fault.unlink()
    mended = resume(tmp_path / "run", Unwatched())
    assert mended.status_counts == {"agent_disconnected": 2, "ok": 4}


def test_faults_are_final_unless_they_are_to_be_retried(tmp_path: Path) -> None:
    plan, fault = corridor_plan(), tmp_path / "fault"
    fault.touch()
    command = joining(f"Mendable --agent-arg fault={fault} --agent-arg how=size")
    settings = Settings(benchmark="corridor", agent_cmd=command, workers=0)
    broken = start(tmp_path / "run", Request(settings, plan), Unwatched())
    fault.unlink()
    assert rows(resume(tmp_path / "run", Unwatched())) == rows(broken)
    mended = resume(tmp_path / "run", Unwatched(), retry_faults=True)
    assert rows(mended) == rows(play(tmp_path / "whole", plan, Seeded()))
    tries = {e.attempt for e in mended.episodes if e.steps > 1}
    assert tries == {1}


def test_another_plan_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    settings = Settings(benchmark="corridor", workers=0)
    with begin(tmp_path, Request(settings, corridor_plan(slots=2))) as ledger:
        other = Request(settings, corridor_plan(slots=3))
        with pytest.raises(PlanDiffers, match="slots: 2 before, 3 now"):
            check_same(ledger, other)


def test_another_version_is_refused_and_named(tmp_path: Path) -> None:
    request = Request(Settings(benchmark="corridor", workers=0), corridor_plan())
    begin(tmp_path, request).close()
    change_about(tmp_path, "version numpy", "1.0")
    with (
        Ledger(tmp_path) as ledger,
        pytest.raises(PlanDiffers, match=r"version numpy: 1\.0 before"),
    ):
        check_same(ledger, request)


def test_another_checkpoint_is_refused(tmp_path: Path) -> None:
    weights = tmp_path / "w.npz"
    weights.write_bytes(b"first")
    settings = Settings(benchmark="corridor", agent_args={"checkpoint": str(weights)})
    request = Request(settings, corridor_plan())
    with begin(tmp_path / "run", request) as ledger:
        check_same(ledger, request)
        weights.write_bytes(b"second")
        with pytest.raises(PlanDiffers, match="checkpoint"):
            check_same(ledger, request)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"agent": "random"}, "agent program: expert before, random now"),
        ({"agent_args": {"task": "push-v3"}}, "agent arguments"),
        ({"label": "other"}, "agent label: none before, other now"),
        ({"training_seed": 3}, "agent training seed"),
    ],
)
def test_another_agent_does_not_finish_a_run(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    settings = Settings(benchmark="corridor", agent="expert")
    with (
        begin(tmp_path, Request(settings, corridor_plan())) as ledger,
        pytest.raises(PlanDiffers, match=words),
    ):
        check_same(ledger, Request(settings.model_copy(update=change), corridor_plan()))


def test_a_stranger_that_dials_in_does_not_finish_a_run(tmp_path: Path) -> None:
    class Stranger(Seeded):
        pass

    plan = corridor_plan(slots=1)
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    broken = start(tmp_path, request, Interrupts(2))
    with pytest.raises(PlanDiffers, match="this run is Seeded's; Stranger needs one"):
        continued(tmp_path, replace(request, agent=Stranger()))
    assert rows(continued(tmp_path, replace(request, agent=Seeded())))[:1] == rows(broken)


def test_a_run_that_cannot_be_played_as_asked_leaves_no_folder(tmp_path: Path) -> None:
    settings = Settings(benchmark="corridor", agent="exprt", workers=0)
    with pytest.raises(UsageError, match="did you mean expert"):
        start(tmp_path / "run", Request(settings, corridor_plan()), Unwatched())
    assert not (tmp_path / "run" / FILE).exists()


def test_a_secret_of_ones_own_changes_start_seeds_and_is_kept_nowhere(tmp_path: Path) -> None:
    plan = corridor_plan()
    known = play(tmp_path / "known", plan, Seeded())
    hidden = play(tmp_path / "hidden", plan, Seeded(), secret="open sesame")
    again = play(tmp_path / "again", plan, Seeded(), secret="open sesame")
    assert rows(known) != rows(hidden) == rows(again)
    with Ledger(tmp_path / "hidden") as ledger:
        assert "open sesame" not in str(ledger.about)


def test_time_spent_waiting_for_an_agent_is_the_agents(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), "wait", connect_timeout=0.5)
    assert result.seconds.agent >= 0.5 > result.seconds.glue


def test_a_run_that_is_being_written_is_not_resumed(tmp_path: Path) -> None:
    request = Request(Settings(benchmark="corridor", agent="random"), corridor_plan())
    with begin(tmp_path, request), pytest.raises(RunBusy):
        resume(tmp_path, Unwatched())


# An agent's fault is its own, and the run says so.


def test_an_agent_that_exits_is_disconnected_and_its_last_lines_are_shown(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Exits"))
    assert result.status_counts == {"agent_disconnected": 2, "missing": 3, "ok": 1}
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_disconnected"
    assert "exit code 3" in result.ended_early.what
    assert "out of coffee" in result.ended_early.what


def test_an_agent_that_hangs_times_out(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Hangs"), step_timeout=0.5)
    assert result.status_counts == {"agent_timeout": 2, "missing": 3, "ok": 1}
    assert result.ended_early is not None
    assert "within 0.5 s" in result.ended_early.what


def test_an_agent_that_raises_is_heard(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("Raises"))
    assert result.status_counts == {"agent_error": 2, "missing": 3, "ok": 1}
    assert result.ended_early is not None
    assert "KeyError: 'coffee'" in result.ended_early.what


def test_actions_of_a_wrong_size_end_their_episodes_and_the_run_goes_on(tmp_path: Path) -> None:
    """Each episode that lives to its second action; variant 0 of a is over by then."""
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("WrongSize"))
    assert result.complete
    assert result.status_counts == {"agent_error": 5, "ok": 1}
    assert "wanted 8 bytes" in (tmp_path / "agent.log").read_text()


def test_an_agent_that_never_comes_is_disconnected(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent="wait", connect_timeout=0.3)
    assert result.status_counts == {"missing": 6}
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_disconnected"
    assert "--connect-timeout" in result.ended_early.what


def test_an_agent_that_cannot_be_made_ends_the_wait(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), agent_cmd=joining("NeverMade"))
    assert result.ended_early is not None
    assert "no weights" in result.ended_early.what


def test_a_result_is_written_even_if_nothing_was_played(tmp_path: Path) -> None:
    play(tmp_path, corridor_plan(), agent_cmd=joining("NeverMade"))
    assert read_result(tmp_path).mean_success_rate == 0.0


# Agents that dial in.


class Announced(Unwatched):
    """Hears where a run waits for its agent."""

    def __init__(self) -> None:
        self.heard = threading.Event()
        self.text = ""
        self.begun = threading.Event()

    def say(self, text: str) -> None:
        self.text = text
        self.heard.set()

    def begin(self, begun: Begun) -> None:
        self.begun.set()


@contextmanager
def waiting_run(folder: Path, plan: Plan) -> Iterator[tuple[Announced, str, str]]:
    """A run that waits for an agent: its watcher, its address and its token."""
    announced = Announced()
    settings = Settings(benchmark="corridor", agent="wait", workers=0, connect_timeout=30)
    run = threading.Thread(target=start, args=(folder, Request(settings, plan), announced))
    run.start()
    assert announced.heard.wait(10)
    words = announced.text.split()
    yield announced, words[words.index("--address") + 1], words[words.index("--token") + 1]
    run.join(30)
    assert not run.is_alive()


def test_a_run_waits_for_an_agent_and_says_how_to_join(tmp_path: Path) -> None:
    plan = corridor_plan()
    with waiting_run(tmp_path / "run", plan) as (announced, address, token):
        assert "reglue join" in announced.text
        reglue.connect(Seeded(), address, token)
    assert rows(read_result(tmp_path / "run")) == rows(play(tmp_path / "here", plan, Seeded()))


def test_a_wrong_token_is_turned_away_and_the_run_goes_on(tmp_path: Path) -> None:
    with waiting_run(tmp_path, corridor_plan()) as (_, address, token):
        with pytest.raises(WrongToken, match="wrong token"):
            reglue.connect(Seeded(), address, "guess")
        reglue.connect(Seeded(), address, token)
    assert read_result(tmp_path).complete


class Waits(Seeded):
    """Plays on when it is told to."""

    def __init__(self) -> None:
        self.playing = threading.Event()
        self.go_on = threading.Event()

    def agent_start(self, observations: object, starts: object) -> object:  # type: ignore[override]
        self.playing.set()
        self.go_on.wait(30)
        return super().agent_start(observations, starts)  # type: ignore[arg-type]


def test_a_second_agent_is_turned_away_while_the_first_plays_on(tmp_path: Path) -> None:
    with waiting_run(tmp_path, corridor_plan()) as (_, address, token):
        first = Waits()
        playing = threading.Thread(target=reglue.connect, args=(first, address, token))
        playing.start()
        assert first.playing.wait(10)
        try:
            with pytest.raises(Busy, match="has its agent already"):
                reglue.connect(Seeded(), address, token)
        finally:
            first.go_on.set()
        playing.join(30)
    assert read_result(tmp_path).complete


def joining(name: str) -> str:
    """A program that dials in with one of the test's agents."""
    return f"{sys.executable} -m reglue join {AGENTS}:{name}"


def change_about(folder: Path, name: str, value: str) -> None:
    connection = sqlite3.connect(folder / FILE)
    with connection:
        connection.execute("UPDATE about SET value = ? WHERE name = ?", (value, name))
    connection.close()

"""Runs over the corridor: rows that depend on nothing but the plan, and what resumes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest

from glue_server import Outcome
from reglue.errors import PlanDiffers, RunBusy, UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.engines.run_server import RunServer
from reglue_bench.evaluation import carry_out, resume, start
from reglue_bench.results.result import Result
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request, begin, begin_or_resume, check_same
from reglue_bench.settings import Settings, read_settings
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.ledgers import change_fact
from tests.reglue_bench.toys import Interrupts, corridor_plan, joining, play, rows

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


@pytest.mark.parametrize("transport", ["grpc", "unix"])
@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
def test_rows_are_the_same_for_an_agent_in_a_process_of_its_own(
    tmp_path: Path, procedure: str, transport: str
) -> None:
    plan = corridor_plan(procedure)
    here = play(tmp_path / "here", plan, Seeded())
    there = play(
        tmp_path / "there", plan, workers=2, agent_cmd=joining("Seeded"), transport=transport
    )
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


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
def test_an_interrupted_run_resumes_to_the_same_rows(tmp_path: Path, procedure: str) -> None:
    plan = corridor_plan(procedure, slots=1)
    whole = play(tmp_path / "whole", plan, Seeded())
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    broken = start(tmp_path / "broken", request, Interrupts(len(rows(whole)) // 2))
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
        return carry_out(folder, ledger, request, NullObserver())


class Lingering(RunServer):
    """Closes when the result is there; it notes whether it was."""

    def __init__(self, settings: Settings, result: Path) -> None:
        super().__init__(settings, lambda words: None, environment=False)
        self._result = result
        self.has_seen_it = False

    def close(self) -> None:
        self.has_seen_it = self._result.exists()
        super().close()


def test_the_result_is_written_before_anybody_is_let_go(tmp_path: Path) -> None:
    """A peer, or a stranger, that does not leave keeps no result back."""
    plan = corridor_plan()
    settings = Settings(benchmark="corridor", workers=0)
    peers = Lingering(settings, tmp_path / "result.json")
    request = Request(settings, plan, agent=Seeded(), server=peers)
    assert start(tmp_path, request, NullObserver()).complete
    assert peers.has_seen_it


def test_a_finished_run_plays_nothing_more(tmp_path: Path) -> None:
    plan = corridor_plan()
    first = play(tmp_path, plan, Seeded())
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    again = continued(tmp_path, request)
    assert again.model_dump(exclude={"seconds"}) == first.model_dump(exclude={"seconds"})


def test_a_run_is_continued_from_the_command_lines_settings(tmp_path: Path) -> None:
    """`resume` knows the agent and the plan from the ledger."""
    plan, fault = corridor_plan(), tmp_path / "fault"
    fault.touch()
    command = joining(f"Mendable --agent-arg fault={fault} --agent-arg how=exit")
    settings = Settings(benchmark="corridor", agent_cmd=command, workers=0)
    broken = start(tmp_path / "run", Request(settings, plan), NullObserver())
    assert broken.status_counts == {"agent_disconnected": 2, "missing": 3, "ok": 1}
    fault.unlink()
    mended = resume(tmp_path / "run", NullObserver())
    assert mended.status_counts == {"agent_disconnected": 2, "ok": 4}


def test_faults_are_final_unless_they_are_to_be_retried(tmp_path: Path) -> None:
    plan, fault = corridor_plan(), tmp_path / "fault"
    fault.touch()
    command = joining(f"Mendable --agent-arg fault={fault} --agent-arg how=nans")
    settings = Settings(benchmark="corridor", agent_cmd=command, workers=0)
    broken = start(tmp_path / "run", Request(settings, plan), NullObserver())
    fault.unlink()
    before = rows(broken)
    assert rows(resume(tmp_path / "run", NullObserver())) == before
    mended = resume(tmp_path / "run", NullObserver(), retry_faults="all")
    assert rows(mended) == rows(play(tmp_path / "whole", plan, Seeded()))
    tries = {e.attempt for e in mended.episodes if e.steps > 1}
    assert tries == {1}


def test_an_environments_faults_are_retried_where_an_agents_are_final(tmp_path: Path) -> None:
    config = {"faults": ["", "raises at start", ""]}
    plan = corridor_plan(solved={"walk": [0] * 3}, suite="tests.worlds:Faulty", config=config)
    fault = tmp_path / "fault"
    fault.touch()
    command = joining(f"Mendable --agent-arg fault={fault} --agent-arg how=nans")
    settings = Settings(benchmark="corridor", agent_cmd=command, workers=0)
    broken = start(tmp_path / "run", Request(settings, plan), NullObserver())
    assert tries(broken) == {("agent_error", 0), ("environment_error", 0)}
    fault.unlink()
    again = resume(tmp_path / "run", NullObserver(), retry_faults="environment")
    assert tries(again) == {("agent_error", 0), ("environment_error", 1)}


def tries(result: Result) -> set[tuple[str, int]]:
    return {(e.status, e.attempt) for e in result.episodes}


def test_another_plan_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    settings = Settings(benchmark="corridor", workers=0)
    with begin(tmp_path, Request(settings, corridor_plan(slots=2))) as ledger:
        other = Request(settings, corridor_plan(slots=3))
        with raises(PlanDiffers, "slots", "2 before", "3 now"):
            check_same(ledger, other)


@pytest.mark.parametrize("package", ["numpy", "scipy", "ale-py", "gymnasium-robotics"])
def test_another_version_is_refused_and_named(tmp_path: Path, package: str) -> None:
    request = Request(Settings(benchmark="corridor", workers=0), corridor_plan())
    begin(tmp_path, request).close()
    change_fact(tmp_path, f"version {package}", "1.0")
    with (
        Ledger(tmp_path) as ledger,
        raises(PlanDiffers, f"version {package}", "1.0 before", f"{version(package)} now"),
    ):
        check_same(ledger, request)


def test_another_source_of_meta_world_is_refused_and_named(tmp_path: Path) -> None:
    settings = read_settings(benchmark="MT1:reach-v3", agent="random", workers=0)
    request = Request(settings, make_plan(settings))
    begin(tmp_path, request).close()
    change_fact(tmp_path, "version metaworld sources", "0123456789abcdef before")
    with (
        Ledger(tmp_path) as ledger,
        raises(PlanDiffers, "version metaworld sources", "0123456789abcdef before"),
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
        digests = [sha256(content).hexdigest() for content in (b"first", b"second")]
        with raises(PlanDiffers, "agent checkpoint", *digests):
            check_same(ledger, request)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"agent": "random"}, ["agent program", "expert before", "random now"]),
        ({"agent_args": {"task": "push-v3"}}, ["agent arguments", "{}", '{"task": "push-v3"}']),
        ({"label": "other"}, ["agent label", "none before", "other now"]),
        ({"training_seed": 3}, ["agent training seed", "none", 3]),
    ],
)
def test_another_agent_does_not_finish_a_run(
    tmp_path: Path, change: dict[str, object], named: list[object]
) -> None:
    settings = Settings(benchmark="corridor", agent="expert")
    with (
        begin(tmp_path, Request(settings, corridor_plan())) as ledger,
        raises(PlanDiffers, *named),
    ):
        check_same(ledger, Request(settings.model_copy(update=change), corridor_plan()))


def test_a_stranger_that_dials_in_does_not_finish_a_run(tmp_path: Path) -> None:
    class Stranger(Seeded):
        pass

    plan = corridor_plan(slots=1)
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    before = rows(start(tmp_path, request, Interrupts(2)))
    with raises(PlanDiffers, "Seeded", "Stranger", settings={"out"}):
        continued(tmp_path, replace(request, agent=Stranger()))
    assert rows(continued(tmp_path, replace(request, agent=Seeded())))[:1] == before


def test_a_run_that_cannot_be_played_as_asked_leaves_no_folder(tmp_path: Path) -> None:
    settings = Settings(benchmark="corridor", agent="exprt", workers=0)
    with raises(UsageError, "'exprt'", "expert"):
        start(tmp_path / "run", Request(settings, corridor_plan()), NullObserver())
    assert not (tmp_path / "run" / LEDGER).exists()


class Refuses(NullObserver):
    """Finds at the third outcome that something cannot be done as asked."""

    seen = 0

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self.seen += 1
        if self.seen == 3:
            raise UsageError("not like this")


def test_what_was_played_is_kept_when_the_rest_cannot_be_played_as_asked(tmp_path: Path) -> None:
    request = Request(
        Settings(benchmark="corridor", workers=0), corridor_plan(slots=1), agent=Seeded()
    )
    with raises(UsageError, "not like this"):
        start(tmp_path, request, Refuses())
    assert continued(tmp_path, replace(request, agent=Seeded())).complete


def test_time_spent_waiting_for_an_agent_is_the_agents(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), "wait", connect_timeout=0.5)
    assert result.seconds.agent >= 0.5


def test_a_run_is_begun_or_resumed_by_the_same_words(tmp_path: Path) -> None:
    request = Request(Settings(benchmark="corridor", agent="random"), corridor_plan())
    with begin_or_resume(tmp_path, request) as ledger:
        begun = carry_out(tmp_path, ledger, request, NullObserver())
    with begin_or_resume(tmp_path, request) as ledger:
        assert carry_out(tmp_path, ledger, request, NullObserver()).episodes == begun.episodes
    other = replace(request, settings=Settings(benchmark="corridor", agent="noop"))
    with raises(PlanDiffers, "agent"):
        begin_or_resume(tmp_path, other)
    begin_or_resume(tmp_path, request).close()  # the refused one has let go of it


def test_who_resumes_a_run_waits_for_the_process_that_is_leaving_it(tmp_path: Path) -> None:
    request = Request(Settings(benchmark="corridor", agent="random"), corridor_plan())
    leaving = begin(tmp_path, request)
    with raises(RunBusy, tmp_path):
        begin_or_resume(tmp_path, request)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(begin_or_resume, tmp_path, request, within_s=60.0)
        assert not waiting.done()
        leaving.close()
        waiting.result(60.0).close()


def test_a_run_that_is_being_written_is_not_resumed(tmp_path: Path) -> None:
    request = Request(Settings(benchmark="corridor", agent="random"), corridor_plan())
    with begin(tmp_path, request), pytest.raises(RunBusy):
        resume(tmp_path, NullObserver())

"""The default place of a run's environments: this process, as long as no worker pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reglue
from glue_server import Outcome
from glue_server.timeouts import Timeouts
from reglue_bench.engines import run_environments
from reglue_bench.results.result import Result
from reglue_bench.run_folder import WORKER_LOG
from reglue_bench.runs.notes import limits_text
from reglue_bench.runs.observer import NullObserver, RunStarted
from reglue_bench.settings import Settings
from tests.glue_server.playing import PromptWorkers
from tests.programs import program
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import joining

CORRIDOR = "multi-task:tests.worlds:Corridor"
SOLVED = {"walk": [1, 3, 0, 5, 2, 4], "run": [0, 2, 4, 0, 1, 3]}
HERE = "this process"
SEEDED = joining("Seeded")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_environments, "cores", lambda: 2)


def play(benchmark: str = CORRIDOR, **options: Any) -> Result:
    arguments = {"environment_args": {"solved": SOLVED}, "num_episodes": 12, "slots": 4}
    return reglue.evaluate(benchmark, **{"agent": Seeded(), **arguments, **options})


def rows_of(result: Result) -> list[Any]:
    return [(row.unit, row.k, row.return_, row.steps, row.success) for row in result.episodes]


def test_light_environments_are_played_in_this_process() -> None:
    result = play()
    assert result.complete
    assert result.environments_in == [HERE]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"workers": 2}, {"secret": "a secret of a host, long enough"}, {"environment_timeout": 60.0}],
    ids=["asked for", "with a secret", "with a time limit of their own"],
)
def test_they_are_in_workers_at_once_where_that_is_asked_for(options: dict[str, Any]) -> None:
    assert play(**options).environments_in == ["2 workers"]


@pytest.mark.slow
def test_with_a_secret_there_is_at_least_one_worker() -> None:
    result = play(secret="a secret of a host, long enough", workers=0)
    assert result.environments_in == ["1 worker"]


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 3, 7])
def test_a_run_that_moves_has_the_rows_of_one_that_stays(
    monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    staying = play()
    turns: list[float] = []

    def pays(turn_s: float) -> bool:
        turns.append(turn_s)
        return len(turns) > after

    monkeypatch.setattr(run_environments, "WorkersPay", lambda _workers: pays)
    monkeypatch.setattr(run_environments, "WorkersPort", PromptWorkers)
    moving = play()
    assert moving.environments_in == ["2 workers", HERE]
    assert rows_of(moving) == rows_of(staying)
    assert moving.plan_sha256 == staying.plan_sha256
    assert moving.repeats == staying.repeats


@pytest.mark.slow
def test_an_evaluator_stays_where_it_has_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_environments, "WorkersPay", lambda _workers: lambda _turn_s: True)
    monkeypatch.setattr(run_environments, "WorkersPort", PromptWorkers)
    options: dict[str, Any] = {"environment_args": {"solved": SOLVED}, "num_episodes": 12}
    with reglue.Evaluator(CORRIDOR, slots=4, **options) as evaluator:
        results = [evaluator(Seeded()) for _ in range(2)]
    assert [each.environments_in for each in results] == [["2 workers", HERE], ["2 workers"]]
    assert rows_of(results[0]) == rows_of(results[1])


DIES = """
from tests.reglue_bench.runs.test_default_workers import play
play("multi-task:tests.worlds:Trapdoor", out={out!r}, environment_args={arguments!r})
"""


@pytest.mark.slow
def test_a_run_whose_process_was_ended_by_its_environment_is_resumed_in_workers(
    tmp_path: Path,
) -> None:
    """There a crash is that episode's alone."""
    out, fuse = tmp_path / "run", tmp_path / "fuse"
    fuse.write_text("..")  # the process, and then a worker
    arguments = {"solved": SOLVED, "fuse": str(fuse)}
    with program(DIES.format(out=str(out), arguments=arguments), tmp_path) as killed:
        assert killed.wait(60) == -9
    result = play(
        "multi-task:tests.worlds:Trapdoor", out=out, resume=True, environment_args=arguments
    )
    assert result.complete
    assert not fuse.read_text()
    assert "2 workers" in result.environments_in
    assert rows_of(result) == rows_of(play())


def copies(out: Path, benchmark: str = CORRIDOR, **options: Any) -> Result:
    """A run of two copies of an agent, each in a process of its own."""
    return play(benchmark, agent=None, agent_cmd=SEEDED, agents=2, processes=2, out=out, **options)


class Limits(NullObserver):
    """Records the text about limits at the end of each episode."""

    def begin(self, begun: RunStarted) -> None:
        self._limits, self.texts = begun.limits, set[str]()

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self.texts.add(self._limits())


@pytest.mark.slow
def test_beside_copies_of_an_agent_they_are_in_workers_only_with_a_secret_or_as_asked_for(
    tmp_path: Path,
) -> None:
    """The rows are the same with a worker and without."""
    asked: list[dict[str, Any]] = [
        {},
        {"workers": 1},
        {"secret": "a secret of a host, long enough"},
    ]
    played = []
    for number, options in enumerate(asked):
        watcher, out = Limits(), tmp_path / str(number)
        played.append(copies(out, watcher=watcher, **options))
        assert played[-1].complete
        assert (out / WORKER_LOG).exists() == bool(options)
        (text,) = watcher.texts
        assert ("Ctrl-C" in text) != bool(options)
    assert rows_of(played[0]) == rows_of(played[1])


@pytest.mark.slow
def test_once_a_copys_process_has_died_the_next_has_its_environments_in_workers(
    tmp_path: Path,
) -> None:
    """They may have ended it. In a worker a crash is that episode's alone."""
    fuse = tmp_path / "fuse"
    fuse.write_text("...")  # one or both of the first processes, and then workers
    arguments = {"solved": SOLVED, "fuse": str(fuse)}
    trapdoor = "multi-task:tests.worlds:Trapdoor"
    result = copies(tmp_path / "run", trapdoor, environment_args=arguments)
    assert result.complete
    assert not fuse.read_text()
    assert 1 <= len(result.events) <= 2
    assert (tmp_path / "run" / WORKER_LOG).exists()


def test_what_limits_an_environment_is_told_as_it_is() -> None:
    settings = Settings(benchmark=CORRIDOR, agent="random")
    here, there = (limits_text(settings, where) for where in (HERE, "2 workers"))
    assert "Ctrl-C" in here
    assert "workers" in here
    assert "Ctrl-C" not in there
    assert f"{Timeouts.environment_s:g} s" in there
    assert f"{Timeouts.step_s:g} s" in here
    assert f"{Timeouts.step_s:g} s" not in limits_text(Settings(benchmark=CORRIDOR), HERE)

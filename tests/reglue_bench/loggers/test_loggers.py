"""Scores in the tools that people watch trainings with: written offline, and read back."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reglue
from reglue.errors import AgentFault, BadArgument, MissingExtra, UnknownName
from reglue_bench.loggers import Loggers, ResultLogger, curves_of, metrics_of
from reglue_bench.results.result import Result
from tests.reglue_bench.learning_results import learned
from tests.reglue_bench.loggers.scores_logged import BENCHMARK, STEPS, lean
from tests.reglue_bench.made_results import Play, make_result

ROOT = Path(__file__).parents[3]
MEAN = f"{BENCHMARK}/mean_return"
CURVE = f"{learned().title}/return"
CURVE_POINTS = [
    (point.at, pytest.approx(point.value)) for point in learned().curves if point.curve == "return"
]


OFFLINE = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}


def python(folder: Path, *arguments: str, **environment: str) -> str:
    """The last output of a process of its own."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return (done.stdout.splitlines() or [""])[-1]


def logged(folder: Path, *loggers: str, **environment: str) -> float:
    """The value that a process of its own reports as logged, twice."""
    module = "tests.reglue_bench.loggers.scores_logged"
    return float(python(folder, "-m", module, *loggers, **environment))


def test_tensorboard_reads_the_scores_at_their_steps(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    mean = logged(tmp_path, "tensorboard:events")
    read: Any = EventAccumulator(str(tmp_path / "events"))
    read.Reload()
    assert {MEAN, f"{MEAN}_low", f"{MEAN}_high"} < {*read.Tags()["scalars"]}
    points = [(each.step, each.value) for each in read.Scalars(MEAN)]
    assert points == [(step, pytest.approx(mean)) for step in STEPS]
    assert [(each.step, each.value) for each in read.Scalars(CURVE)] == CURVE_POINTS


def records(file: bytes) -> Iterator[Any]:
    """The records of a run of W&B: LevelDB's log format, after seven bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    place, record = 7, b""
    while place < len(file):
        room = 2**15 - place % 2**15  # in its block
        if room < 7:
            place += room
            continue
        _, length, part = struct.unpack_from("<IHB", file, place)
        record += file[place + 7 : place + 7 + length]
        place += 7 + length
        if part in (1, 4):  # whole, or the last part
            yield Record.FromString(record)
            record = b""


def test_wandb_reads_the_scores_with_their_steps(tmp_path: Path) -> None:
    mean = logged(tmp_path, "wandb:pole", **OFFLINE)
    [file] = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    points: Any = []
    curve: Any = []
    projects: set[str] = set()
    for record in records(file.read_bytes()):
        items = record.history.item
        values = {"/".join(each.nested_key) or each.key: each.value_json for each in items}
        if MEAN in values:
            points.append((int(values[f"{BENCHMARK}/step"]), float(values[MEAN])))
        if CURVE in values:
            curve.append((int(values[f"{learned().title}/step"]), float(values[CURVE])))
        projects |= {record.run.project} - {""}
    assert points == [(step, pytest.approx(mean)) for step in STEPS]
    assert curve == CURVE_POINTS
    assert projects == {"pole"}


TWO_RUNS = """
import wandb
from reglue_bench.loggers import Loggers
from tests.reglue_bench.made_results import make_result

log = Loggers("wandb")
for step in (1, 2):
    log(make_result(), step)
    wandb.finish()
"""


def test_each_wandb_run_of_a_process_draws_against_the_step(tmp_path: Path) -> None:
    python(tmp_path, "-c", TWO_RUNS, **OFFLINE)
    files = [*tmp_path.glob("wandb/offline-run-*/run-*.wandb")]
    assert len(files) == 2
    for file in files:
        drawn = {each.metric.glob_name for each in records(file.read_bytes())}
        assert f"{make_result().title}/*" in drawn


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of SQLAlchemy, by MLflow
def test_mlflow_reads_the_scores_at_their_steps(tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    mean = logged(tmp_path, "mlflow:pole", MLFLOW_TRACKING_URI=uri)
    client: Any = mlflow.MlflowClient(tracking_uri=uri)
    [run] = client.search_runs([client.get_experiment_by_name("pole").experiment_id])
    points = client.get_metric_history(run.info.run_id, MEAN)
    assert [(each.step, each.value) for each in points] == [(step, mean) for step in STEPS]
    curve = client.get_metric_history(run.info.run_id, CURVE)
    assert sorted((each.step, each.value) for each in curve) == CURVE_POINTS


def test_a_function_is_a_logger_and_one_that_fails_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[tuple[Result, int | None]] = []

    def offline(result: Result, step: int | None) -> None:
        raise ConnectionError("no network")

    def mine(result: Result, step: int | None) -> None:
        told.append((result, step))

    result = reglue.evaluate(BENCHMARK, lean, num_episodes=2, log=[offline, mine], step=7)
    assert told == [(result, 7)]
    assert "offline has not logged the score: ConnectionError: no network" in caplog.text


def test_a_result_with_faults_is_logged_before_they_are_raised() -> None:
    told = []

    def broken(observations: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(AgentFault):
        reglue.evaluate(BENCHMARK, broken, num_episodes=2, log=lambda *each: told.append(each))
    assert len(told) == 1


def test_metrics_have_one_name_in_every_tool() -> None:
    metrics = metrics_of(make_result(Play(tasks=["a", "b"], goals=5)))
    assert {*metrics} == {
        f"MT10/{task}{what}"
        for task in ("", "a/", "b/")
        for what in ("success", "success_low", "success_high", "mean_return")
    }
    assert {*metrics_of(make_result(Play(tasks=["a"], goals=5)))} == {
        f"MT10/{what}" for what in ("success", "success_low", "success_high", "mean_return")
    }
    [name, *_] = metrics_of(learned())
    assert name.endswith("/performance")


def test_a_training_is_logged_by_its_curves_and_its_end() -> None:
    told: list[int | None] = []
    result = learned()
    assert len(curves_of(result)) == 60
    assert {*curves_of(result)[1]} == {
        f"{result.title}/{what}{end}"
        for what in ("return", "steps_per_episode")
        for end in ("", "_low", "_high")
    }
    trained = reglue.evaluate(
        BENCHMARK,
        "random",
        log=lambda _, step: told.append(step),
        train_steps=400,
        slots=2,
        num_episodes=2,
    )
    assert told == [400]
    assert {point.curve for point in trained.curves} >= {"training return"}


@pytest.mark.parametrize(
    ("log", "kind", "named"),
    [
        ("tensorbord", UnknownName, "did you mean tensorboard"),
        (["tensorboard", 7], BadArgument, "got 7, wanted a function, or one of tensorboard, wandb"),
    ],
)
def test_what_is_no_logger_is_refused_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Any, kind: type[Exception], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=named):
        reglue.evaluate(BENCHMARK, lean, num_episodes=2, log=log, out="run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in [name, "tensorboard.compat.proto.event_pb2"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"reglue\[{name}\]"):
        Loggers(name)


def test_another_package_registers_its_own() -> None:
    class Mine(ResultLogger):
        def __init__(self, where: str) -> None:
            self.where, self.told = where, 0

        def __call__(self, result: Result, step: int | None) -> None:
            self.told += 1

    mine = Mine("there")
    Loggers(mine)(make_result(), None)
    assert mine.told == 1

"""Loggers of TensorBoard, W&B and MLflow: a result's numbers under names that are alike in all."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.results.result import Result
from reglue_bench.statistics import Interval

_EVENTS = "runs/tensorboard"  # the folder of TensorBoard's files by default
_PROJECT = "reglue"  # of W&B by default
_MOST = 1000  # metrics of a request to MLflow
_OTHERS = re.compile(r"[^\w.\-:/ ]")  # what a name of MLflow's may not hold


class ResultLogger(ABC):
    """Writes scores to a tool. `WHERE` of `NAME:WHERE` is what it is made with."""

    @abstractmethod
    def __init__(self, where: str) -> None:
        """Raises MissingExtra without the tool's package; an empty `where` is its default."""

    @abstractmethod
    def __call__(self, result: Result, step: int | None) -> None:
        """Write a result's scores, at that step of training if there is one, and its curves.

        May raise what it likes: the run goes on.
        """


def metrics_of(result: Result) -> dict[str, float]:
    """`MT10/success`, `MT10/success_low` and `_high` of its 95 % interval, `MT10/mean_return`, …

    Those of a task stand below it, `MT10/reach-v3/success`, if there are several tasks.
    """
    rows = result.scores
    has_several = len({row.task for row in rows if row.task}) > 1
    metrics: dict[str, float] = {}
    for row in rows:
        if has_several or not row.task:
            _put(metrics, result, [row.task, row.what], row.score, row.interval95)
    return metrics


def curves_of(result: Result) -> dict[int, dict[str, float]]:
    """`MT10/training_return`, … of an agent that learned, by the step or episode of each point."""
    curves: dict[int, dict[str, float]] = {}
    for point in result.curves:
        _put(curves.setdefault(point.at, {}), result, [point.curve], point.value, point.interval95)
    return dict(sorted(curves.items()))


def _put(
    metrics: dict[str, float],
    result: Result,
    names: Sequence[str],
    value: float,
    interval95: Interval | None,
) -> None:
    name = "/".join(each.replace(" ", "_") for each in (result.title, *names) if each)
    metrics[name] = value
    if interval95 is not None:
        metrics[f"{name}_low"], metrics[f"{name}_high"] = interval95


class TensorBoardLogger(ResultLogger):
    """Writes to a new event file in the folder `where`, beside those of other trainings there."""

    def __init__(self, where: str) -> None:
        """Raises MissingExtra."""
        try:
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ModuleNotFoundError as error:
            needs = "the package tensorboard"
            raise MissingExtra("the logger tensorboard", "tensorboard", needs) from error
        self._event, self._summary = Event, Summary
        self._writer = EventFileWriter(where or _EVENTS)

    def __call__(self, result: Result, step: int | None) -> None:
        """Write one point of each scalar, and all points of curves."""
        for at, metrics in (*curves_of(result).items(), (step or 0, metrics_of(result))):
            values = [self._summary.Value(tag=n, simple_value=v) for n, v in metrics.items()]
            event = self._event(wall_time=time.time(), step=at, summary=self._summary(value=values))
            self._writer.add_event(event)
        self._writer.flush()


class WandbLogger(ResultLogger):
    """Writes to the run of this process, or begins one in the project `where`.

    The step of training is a metric of its own, `BENCHMARK/step`, against which the scores are
    drawn: W&B's own counter belongs to the training, and takes no step twice.
    """

    def __init__(self, where: str) -> None:
        """Raises MissingExtra."""
        try:
            import wandb
        except ModuleNotFoundError as error:
            raise MissingExtra("the logger wandb", "wandb", "the package wandb") from error
        self._wandb: Any = wandb
        self._project = where or _PROJECT
        self._defined: set[tuple[str, str]] = set()  # of each run

    def __call__(self, result: Result, step: int | None) -> None:
        """Log the metrics together."""
        run = self._wandb.run or self._wandb.init(project=self._project)
        at, curves = f"{result.title}/step", curves_of(result)
        if (step is not None or curves) and (run.id, at) not in self._defined:
            self._defined.add((run.id, at))
            run.define_metric(f"{result.title}/*", step_metric=at)
        for point, metrics in curves.items():
            run.log({**metrics, at: point})
        run.log(metrics_of(result) if step is None else {**metrics_of(result), at: step})


class MlflowLogger(ResultLogger):
    """Writes to the run of this process, or begins one in the experiment `where`."""

    def __init__(self, where: str) -> None:
        """Raises MissingExtra."""
        try:
            import mlflow
        except ModuleNotFoundError as error:
            raise MissingExtra("the logger mlflow", "mlflow", "the package mlflow") from error
        self._mlflow: Any = mlflow
        self._experiment = where

    def __call__(self, result: Result, step: int | None) -> None:
        """Log the metrics, and the points of curves, in as few requests as there can be."""
        if self._experiment and self._mlflow.active_run() is None:
            self._mlflow.set_experiment(self._experiment)
        run = self._mlflow.active_run() or self._mlflow.start_run()
        now_ms = int(1000 * time.time())
        metrics = [
            self._mlflow.entities.Metric(_OTHERS.sub("_", name), value, now_ms, at)
            for at, of in (*curves_of(result).items(), (step or 0, metrics_of(result)))
            for name, value in of.items()
        ]
        client = self._mlflow.MlflowClient()
        for begin in range(0, len(metrics), _MOST):
            client.log_batch(run.info.run_id, metrics=metrics[begin : begin + _MOST])

"""Weights & Biases: metrics of the run that is on, or of a new one."""

from __future__ import annotations

from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.loggers.result_logger import ResultLogger, curves_of, metrics_of
from reglue_bench.results.result import Result

_PROJECT = "reglue"


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

"""Weights & Biases: metrics of the run that is on, or of a new one."""

from __future__ import annotations

from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.loggers.result_logger import ResultLogger, metrics_of
from reglue_bench.results.result import Result

_PROJECT = "reglue"


class WandbLogger(ResultLogger):
    """Writes to the process's run; where there is none, it begins one of the project `where`.

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
        self._defined: set[str] = set()

    def __call__(self, result: Result, step: int | None) -> None:
        """Log the metrics together."""
        run = self._wandb.run or self._wandb.init(project=self._project)
        metrics = metrics_of(result)
        if step is not None:
            at = f"{result.title}/step"
            if at not in self._defined:
                self._defined.add(at)
                run.define_metric(f"{result.title}/*", step_metric=at)
            metrics[at] = step
        run.log(metrics)

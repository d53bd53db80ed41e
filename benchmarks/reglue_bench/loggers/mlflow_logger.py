"""MLflow: metrics of the run that is on, or of a new one."""

from __future__ import annotations

import re
from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.loggers.result_logger import ResultLogger, metrics_of
from reglue_bench.results.result import Result

_OTHERS = re.compile(r"[^\w.\-:/ ]")  # what a metric's name may not hold


class MlflowLogger(ResultLogger):
    """Writes to the process's run; where there is none, MLflow begins one.

    With `where`, that is the experiment that a new run belongs to.
    """

    def __init__(self, where: str) -> None:
        """Raises MissingExtra."""
        try:
            import mlflow
        except ModuleNotFoundError as error:
            raise MissingExtra("the logger mlflow", "mlflow", "the package mlflow") from error
        self._mlflow: Any = mlflow
        self._experiment = where

    def __call__(self, result: Result, step: int | None) -> None:
        """Log the metrics together."""
        if self._experiment and self._mlflow.active_run() is None:
            self._mlflow.set_experiment(self._experiment)
        metrics = {_OTHERS.sub("_", name): value for name, value in metrics_of(result).items()}
        self._mlflow.log_metrics(metrics, step=step)

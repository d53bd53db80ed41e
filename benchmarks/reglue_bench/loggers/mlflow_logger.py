"""MLflow: metrics of the run that is on, or of a new one."""

from __future__ import annotations

import re
import time
from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.loggers.result_logger import ResultLogger, curves_of, metrics_of
from reglue_bench.results.result import Result

_MOST = 1000  # metrics of a request
_OTHERS = re.compile(r"[^\w.\-:/ ]")  # what a metric's name may not hold


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

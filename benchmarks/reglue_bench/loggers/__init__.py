"""Loggers write scores to the tools that people watch their trainings with.

A logger is a function of a result and of the step of training, or None where nobody trains. By name
there are `tensorboard`, `wandb` and `mlflow`; `NAME:WHERE` says where they write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from env_adapters.named_objects import Registry
from reglue.error_message import brief
from reglue.errors import BadArgument
from reglue_bench.loggers.result_logger import ResultLogger, curves_of, metrics_of
from reglue_bench.results.result import Result

__all__ = ["LOGGERS", "Log", "Logger", "Loggers", "ResultLogger", "curves_of", "metrics_of"]

log = logging.getLogger("reglue")

Logger: TypeAlias = Callable[[Result, int | None], object]
Log: TypeAlias = str | Logger | Sequence[str | Logger] | None
"""One or several, by name or as functions."""

LOGGERS: Registry[type[ResultLogger]] = Registry(
    "logger",
    "reglue.loggers",
    {
        "tensorboard": "reglue_bench.loggers.result_logger:TensorBoardLogger",
        "wandb": "reglue_bench.loggers.result_logger:WandbLogger",
        "mlflow": "reglue_bench.loggers.result_logger:MlflowLogger",
    },
    ResultLogger,
)
"""The loggers by name; another package registers its own class as an entry point."""


class Loggers:
    """Several loggers, of which one that fails stops nothing."""

    def __init__(self, named: Log) -> None:
        """Raises UnknownName, BadArgument, and MissingExtra without a logger's package."""
        several = named if isinstance(named, list | tuple) else [named] * (named is not None)
        self._loggers = [_logger_of(each) for each in several]

    def __call__(self, result: Result, step: int | None = None) -> None:
        """Give each of them the result, by default at the end of its training.

        A failure is logged.
        """
        if step is None and result.training is not None:
            step = result.training.steps_taken
        for each in self._loggers:
            try:
                each(result, step)
            except Exception as error:  # noqa: BLE001 - the edge of a tool, or of its network
                name = getattr(each, "__name__", type(each).__name__)
                log.warning(
                    "%s has not logged the score: %s: %s", name, type(error).__name__, error
                )


def _logger_of(named: object) -> Logger:
    if isinstance(named, str):
        name, _, where = named.partition(":")
        return LOGGERS[name](where)
    if callable(named):
        return named
    raise BadArgument(got=brief(named), wanted=f"a function, or one of {', '.join(LOGGERS)}")

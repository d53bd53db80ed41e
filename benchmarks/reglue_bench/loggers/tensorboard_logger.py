"""TensorBoard: scalars in an event file."""

from __future__ import annotations

import time

from reglue.errors import MissingExtra
from reglue_bench.loggers.result_logger import ResultLogger, curves_of, metrics_of
from reglue_bench.results.result import Result

_FOLDER = "runs/tensorboard"


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
        self._writer = EventFileWriter(where or _FOLDER)

    def __call__(self, result: Result, step: int | None) -> None:
        """Write one point of each scalar, and all points of curves."""
        for at, metrics in (*curves_of(result).items(), (step or 0, metrics_of(result))):
            values = [self._summary.Value(tag=n, simple_value=v) for n, v in metrics.items()]
            event = self._event(wall_time=time.time(), step=at, summary=self._summary(value=values))
            self._writer.add_event(event)
        self._writer.flush()

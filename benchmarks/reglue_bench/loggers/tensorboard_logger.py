"""TensorBoard: scalars in an event file."""

from __future__ import annotations

import time

from reglue.errors import MissingExtra
from reglue_bench.loggers.result_logger import ResultLogger, metrics_of
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
        """Write one point of each scalar."""
        values = [
            self._summary.Value(tag=name, simple_value=value)
            for name, value in metrics_of(result).items()
        ]
        summary = self._summary(value=values)
        self._writer.add_event(self._event(wall_time=time.time(), step=step or 0, summary=summary))
        self._writer.flush()

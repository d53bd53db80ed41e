"""What counts a run as it is played, by the name that its procedure gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from env_adapters.registry import Registry
from reglue_bench.procedures import Procedure
from reglue_bench.runs.observer import RunStarted
from reglue_bench.terminal.tally import Tally

TALLIES: Registry[Callable[[Any, RunStarted, Callable[[], float]], Tally]] = Registry(
    "tally",
    "reglue.tallies",
    {
        "episodes": "reglue_bench.terminal.tally:JudgedTally",
        "returns": "reglue_bench.terminal.tally:ReturnTally",
        "runs": "reglue_bench.terminal.tally:LearningTally",
        "training": "reglue_bench.terminal.training_tally:TrainingTally",
    },
    Tally,
)


def tally_of(procedure: Procedure, begun: RunStarted, clock: Callable[[], float]) -> Tally:
    """That of a run that begins; `clock` gives seconds."""
    return TALLIES[procedure.counted_by](procedure, begun, clock)

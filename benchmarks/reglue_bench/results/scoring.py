"""The functions that score what was played, by the name that a procedure gives."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from env_adapters.registry import Registry
from reglue_bench.procedures import procedure_of
from reglue_bench.results.result import Result
from reglue_bench.results.success import ScoreInputs

SCORINGS: Registry[Callable[[Any, ScoreInputs], Result]] = Registry(
    "scoring",
    "reglue.scorings",
    {
        "episodes": "reglue_bench.results.success:score",
        "runs": "reglue_bench.results.learning:score_online",
        "training": "reglue_bench.results.training:score_training",
        "as-upstream": "reglue_bench.results.upstream:score_as_upstream",
    },
    FunctionType,
)
"""Each takes the procedure and what was played."""


def result_of(played: ScoreInputs) -> Result:
    """The result of a run so far."""
    procedure = procedure_of(played.plan)
    return SCORINGS[procedure.scored_by](procedure, played)

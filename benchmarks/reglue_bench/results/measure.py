"""What a run is judged by: how its score is read, and how two runs are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from env_adapters.registry import Registry
from reglue_bench.formatting import signed, value, values

if TYPE_CHECKING:
    from reglue_bench.measures.compare import Pairs, Units
    from reglue_bench.results.result import Result
    from reglue_bench.statistics import FloatArray, Inference

Interval: TypeAlias = tuple[float, float]


class TaskScore(NamedTuple):
    """The score of one task."""

    score: float
    interval95: Interval | None  # None: there is too little to tell
    of: str  # what it is a mean of: `50 goals`


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What runs are judged by.

    A procedure names one (`Procedure.measured_by`). Runs with equal measures are compared. A
    package derives its own from another, `replace(SUCCESS, name="speed", …)`, and registers it as
    an entry point of the group `reglue.measures`.
    """

    name: str  # of the score: success, mean return, performance
    unit: str  # by which two runs are paired: goal, episode, run
    least: int  # of these that an interval takes
    enough: str  # that, in words
    entrant: str = "run"  # what is compared: runs, or the agents that play them
    planned: str = "episodes"  # what a plan is made of

    score: Callable[[Result], tuple[float | None, Interval | None]]  # with its 95 % interval
    amount: Callable[[float], str] = value  # a score in words
    amounts: Callable[[Interval], str] = values  # an interval in words
    difference: Callable[[float], str] = signed  # a difference of scores in words
    is_rate: bool = False  # 0 to 1
    per_task: Callable[[Result], Mapping[str, TaskScore]] = lambda _result: {}

    # Of two runs.
    read: Callable[[Result], Any]  # the scores of a run's units
    pair: Callable[[Units, Units], Pairs]  # raises UsageError where nothing can be compared
    infer: Callable[[Mapping[str, FloatArray]], Inference]  # from differences by task
    improves: bool = True  # units are independent: a probability of improvement means something
    least_p: Callable[[int], float] = lambda _pairs: 0.0  # where so many differ as far as can be


MEASURES: Registry[Measure] = Registry(
    "measure",
    "reglue.measures",
    {
        "success": "reglue_bench.measures.success:SUCCESS",
        "return": "reglue_bench.measures.returns:RETURN",
        "seeded-return": "reglue_bench.measures.seeded_returns:SEEDED_RETURN",
        "performance": "reglue_bench.measures.performance:PERFORMANCE",
    },
    Measure,
)
"""By name: a result finds its measure here, which knows results."""

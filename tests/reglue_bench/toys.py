"""Small plans over the corridor."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from env_adapters import SuiteName
from glue_server import Outcome
from reglue_bench.evaluation import start
from reglue_bench.float_range import FloatArray
from reglue_bench.plans.plan import Parameter, Plan
from reglue_bench.results.facts import AgentIdentity
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import ScoreInputs, result_of
from reglue_bench.runs.ledger import Row, Totals
from reglue_bench.runs.observer import NullObserver, Observer
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings

AGENTS = Path(__file__).with_name("agents.py")
SOLVED = {"a": [1, 3, 0], "b": [5, 0, 2]}


def corridor_plan(
    procedure: str = "multi-task",
    *,
    solved: dict[str, list[int]] | None = None,
    slots: int = 2,
    seed: int = 0,
    suite: str = "tests.worlds:Corridor",
    config: dict[str, Any] | None = None,
    **parameters: Parameter,
) -> Plan:
    """A plan over the corridor's variants; the parameters' defaults are small."""
    solved = SOLVED if solved is None else solved
    defaults: dict[str, Parameter]
    match procedure:
        case "multi-task":
            defaults = {"num_episodes": 3, "reveal_tasks": True}  # taken task by task
        case "meta-learning":
            defaults = {
                "num_evals": 2,
                "adaptation_steps": 1,
                "adaptation_episodes": 2,
                "evaluation_episodes": 3,
                "meta_batch_size": slots,
                "evaluate_before_adaptation": False,
            }
        case _:
            defaults = {"runs": 3, "episode_limit": 10_000_000, "metric": "all"}
            defaults |= {} if "steps" in parameters else {"episodes": 4}
    return Plan(
        benchmark="corridor",
        procedure=procedure,
        parameters=defaults | parameters,
        seed=seed,
        slots=slots,
        suite=SuiteName(suite, {"solved": solved} | (config or {})),
        variants={task: len(of) for task, of in solved.items()},
    )


def online_plan(**parameters: Any) -> Plan:
    """Runs in a corridor of 5 steps with one task and variant; see `corridor_plan`."""
    parameters.setdefault("solved", {"walk": [0]})
    return corridor_plan("online", slots=1, **parameters)


def scored(
    plan: Plan,
    rows: Sequence[Row],
    rewards: Mapping[int, FloatArray] | None = None,  # of units
    *,
    label: str = "probe",
    totals: Totals | None = None,
    versions: Mapping[str, str] | None = None,
) -> Result:
    """The score of made-up rows."""
    kept = rewards or {}
    played = ScoreInputs(
        plan,
        lambda: rows,
        lambda unit, _attempt: kept.get(unit, np.zeros(0)),
        agent=AgentIdentity(name=label, label=label),
        totals=totals or Totals(2.0, 0.5, 1.0, 50),
        versions=versions or {},
        fresh="process",
    )
    return result_of(played)


def play(
    folder: Path,
    plan: Plan,
    agent: object | None = None,
    *,
    workers: int = 0,
    watcher: Observer | None = None,
    **settings: Any,
) -> Result:
    """Begin a run of a plan in `folder`, with an agent object or the settings' agent."""
    named = {"agent": agent} if isinstance(agent, str) else {}
    asked = Settings(benchmark=plan.benchmark, workers=workers, **named, **settings)
    there = None if named else agent
    return start(folder, Request(asked, plan, agent=there), watcher or NullObserver())


def rows(result: Result) -> list[tuple[Any, ...]]:
    """The result of each episode, to compare."""
    return [
        (e.unit, e.k, e.task, e.variant, e.repeat, e.phase, e.status, e.success, e.return_, e.steps)
        for e in result.episodes
    ]


def cells(result: Result) -> list[tuple[Any, ...]]:
    """The cells that were played; an agent's actions in them follow its own start seeds."""
    return [(e.unit, e.k, e.task, e.variant, e.repeat) for e in result.episodes]


def joining(name: str) -> str:
    """A program that dials in with one of the test's agents."""
    return f"{sys.executable} -m reglue join {AGENTS}:{name}"


class Says(NullObserver):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, words: str) -> None:
        self.said.append(words)


class Interrupts(NullObserver):
    """Interrupts after a number of outcomes, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self._left = after

    def outcome(self, outcome: Outcome, phase: str) -> None:
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt

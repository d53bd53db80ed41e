"""A benchmark: made once of a name or a file, then resolved to the plan of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from env_adapters import SuiteName
from reglue.errors import UsageError, setting
from reglue.spec import TaskSpec
from reglue_bench.benchmark.benchmark_file import FileSource
from reglue_bench.benchmark.benchmark_source import (
    Declare,
    Drawing,
    Means,
    Source,
    is_file,
    named_source,
)
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.environment_facts import EnvironmentFacts
from reglue_bench.plans.keys import cell_key, commitment, goal_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.training_plan import whole_suite, with_training
from reglue_bench.settings import Settings


@dataclass(frozen=True, slots=True)
class Resolved:
    """A benchmark whose environments were made, or have connected."""

    plan: Plan
    suite: SuiteName  # the plan's, as it is made here
    spec: TaskSpec | None  # None: of an environment that connects


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's source and settings: no environment was made yet, and it holds no secret."""

    source: Source
    settings: PlanSettings  # the caller's and a file's

    @classmethod
    def of(cls, settings: Settings, source: Source | None = None) -> Self:
        """The benchmark that settings name; its file is read, but no environment is made.

        `source` is what the name stands for, if it is known. Raises UsageError for an unknown name,
        and for settings that the benchmark does not take.
        """
        source = source or source_of(settings)
        if source.waits and settings.workers is not None:
            raise UsageError(
                f"{setting('workers')} is for environments that are made here; "
                f"{settings.benchmark} has one that connects by itself"
            )
        return cls(source, source.accepted(settings.of_plan()))

    def facts(self) -> EnvironmentFacts:
        """The facts of its environments, which are made. Raises UsageError, EnvironmentFault."""
        return self.source.facts(self.settings, Means())

    def resolve(
        self,
        secret: str | None = None,
        *,
        declare: Declare | None = None,
        drawing: Drawing | None = None,
    ) -> Resolved:
        """Make its environments, and plan their play; a secret keys its goals and cells.

        `declare` waits for an environment that connects by itself. Raises UsageError for what
        cannot be played, and what `declare` raises.
        """
        means, cells = Means(goal_key(secret), declare, drawing), commitment(cell_key(secret))
        source, settings, train = self.source, self.settings, None
        plan, facts = source.plan(settings, means, cells)
        if settings.train_steps is not None:
            if facts.parameters.get("split") == "test":
                train = source.facts(settings.model_copy(update={"split": "train"}), means)
            plan = with_training(plan, settings, train)
        return Resolved(plan, whole_suite(plan).located(source.folder), facts.spec)


def source_of(settings: Settings) -> Source:
    """The source that the benchmark's name stands for; a file is read. Raises UsageError."""
    folder, name = Path(settings.directory), settings.benchmark
    return FileSource.read(folder / name, settings) if is_file(name) else named_source(name, folder)


def make_plan(
    settings: Settings,
    drawing: Drawing | None = None,
    declare: Declare | None = None,
) -> Plan:
    """The plan of a run, in one step: see Benchmark."""
    return Benchmark.of(settings).resolve(settings.secret, declare=declare, drawing=drawing).plan


def suite_of(plan: Plan, settings: Settings) -> SuiteName:
    """The plan's, as it is made here."""
    folder = Path(settings.directory)
    if is_file(settings.benchmark):
        folder = (folder / settings.benchmark).parent
    return whole_suite(plan).located(folder)

"""An agent's training episodes, without end and without a run, for training loops of one's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from env_adapters import SuiteName
from glue_server import Order
from reglue_bench.benchmark.benchmark import Benchmark
from reglue_bench.benchmark.benchmark_source import Source, is_file, named_source
from reglue_bench.plans.keys import Submission, training_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES
from reglue_bench.procedures.training_cells import TrainingCells, training_cells
from reglue_bench.settings import read_settings


@dataclass(frozen=True, slots=True)
class TrainingStream:
    """Training episodes of a benchmark, each a pure function of its slot and its number there.

    They are those of `reglue bench BENCHMARK --train-steps N` with the same seeds and slots.
    """

    suite: SuiteName  # build() makes its environments
    plan: Plan
    cells: TrainingCells
    starts: bytes = field(repr=False)  # keys start seeds
    secret: str | None = field(default=None, repr=False)

    def with_training_seed(self, training_seed: int) -> TrainingStream:
        """The same goals, in the episodes of another training seed."""
        key = training_key(self.plan.seed, self.secret, training_seed)
        plan = replace(self.plan, training_key=key.hex())
        return replace(self, plan=plan, cells=training_cells(plan, slots=self.cells.slots))

    def order(self, slot: int, episode: int) -> Order:
        """The cell of a slot's episode number `episode`, from 0, and the agent's seed for it."""
        cell = self.cells.cell(episode * self.cells.slots + slot)
        return self.plan.order(0, cell, self.starts)


def training_stream(
    benchmark: str,
    *,
    slots: int = 1,
    training_seed: int = 0,
    source: Source | None = None,
    **options: object,
) -> TrainingStream:
    """The stream of a benchmark's training episodes, over `slots` slots.

    Of a meta-learning benchmark those of its train split; the episodes of a trial follow each
    other in a slot. Another `training_seed` draws others. `options` are those of `evaluate`.
    `source` is what the name stands for, if it is known. Raises UsageError.
    """
    settings = read_settings(benchmark=benchmark, training_seed=training_seed, **options)
    if source is None and (
        is_file(benchmark) or PROCEDURES[named_source(benchmark).procedure].trains_first
    ):
        settings = settings.model_copy(update={"train_steps": 1})
    resolved = Benchmark.of(settings, source).resolve(settings.secret)
    stream = TrainingStream(
        suite=resolved.suite,
        plan=resolved.plan,
        cells=training_cells(resolved.plan, slots=slots),
        starts=Submission.new(resolved.plan.seed, settings.secret).starts,
        secret=settings.secret,
    )
    return stream.with_training_seed(training_seed)

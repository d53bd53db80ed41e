"""Meta-World's own plans: goals as its vector environments draw them.

Source: metaworld 3.1.1, `RandomTaskSelectWrapper`, `PseudoRandomTaskSelectWrapper` and
`_make_ml_envs_inner`. Every sub-environment draws from a generator of its own, and all
of these begin with one seed. Only `custom-mt-envs` counts seeds up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from reglue.errors import UsageError, setting
from reglue_bench.plans.plan import Plan, PlanCell
from reglue_bench.procedures.meta_learning import GOALS, MetaLearning, Trial
from reglue_bench.procedures.multi_task import MultiTask, order_key
from reglue_bench.procedures.procedure import plan_parameters, shows_tasks


class MetaWorldSampling(ABC):
    """Facts for upstream's score about a procedure that draws goals as upstream does."""

    @property
    @abstractmethod
    def quota(self) -> int:
        """Episodes of a task that count in an evaluation."""

    @abstractmethod
    def sub_environment(self, unit: int, cell: PlanCell) -> tuple[int, int]:
        """The evaluation of a unit's cell, and upstream's sub-environment that plays it."""


class SampledMultiTask(MetaWorldSampling, MultiTask):
    """Episode n of a task plays the goal of its n-th draw, with replacement."""

    scored_by: ClassVar[str] = "reglue_bench.results.upstream:score_as_upstream"

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Make it from a plan. As upstream, tasks have consecutive seeds only in custom lists."""
        is_list = plan.benchmark.startswith("MT:")
        seeds = [plan.seed + place * is_list for place in range(len(plan.variants))]
        return cls(
            plan.variants,
            seeds=seeds,
            shows_tasks=shows_tasks(plan),
            order_key=order_key(plan),
            **plan_parameters(cls.settings, plan),
        )

    def __init__(
        self,
        variants: Mapping[str, int],
        *,
        seeds: Sequence[int],  # one a task
        num_episodes: int,
        shows_tasks: bool = False,
        order_key: bytes = b"",
    ) -> None:
        super().__init__(
            variants, num_episodes=num_episodes, shows_tasks=shows_tasks, order_key=order_key
        )
        self._draws = [
            _draw_variants(count, _generator(seed), num_episodes)
            for count, seed in zip(variants.values(), seeds, strict=True)
        ]

    def cells(self, unit: int) -> Sequence[PlanCell]:
        episode, place = divmod(unit, len(self._tasks))
        variants, before = self._draws[place]
        return (PlanCell(0, self._tasks[place], variants[episode], before[episode], "evaluate"),)

    @property
    def quota(self) -> int:
        return self._num_episodes

    def sub_environment(self, _unit: int, cell: PlanCell) -> tuple[int, int]:
        """A task is a sub-environment of the only evaluation."""
        return 0, self._tasks.index(cell.task)


class SampledMetaLearning(MetaWorldSampling, MetaLearning):
    """A slot is a sub-environment: it cycles through its own share of a task's goals.

    Sub-environment j of m has every m-th goal from j, shuffled anew for each cycle.
    """

    scored_by: ClassVar[str] = "reglue_bench.results.upstream:score_as_upstream"

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """A procedure that plays the plan in upstream's order."""
        return cls(plan.variants, seed=plan.seed, **plan_parameters(cls.settings, plan))

    def __init__(
        self,
        variants: Mapping[str, int],
        *,
        seed: int,
        num_evals: int,
        meta_batch_size: int,
        **others: int,
    ) -> None:
        """Raises UsageError unless sub-environments can be divided evenly among tasks and goals."""
        super().__init__(
            variants,
            num_evals=num_evals,
            meta_batch_size=meta_batch_size,
            adaptation_steps=others["adaptation_steps"],
            adaptation_episodes=others["adaptation_episodes"],
            evaluation_episodes=others["evaluation_episodes"],
            evaluate_before_adaptation=bool(others["evaluate_before_adaptation"]),
        )
        share, left = divmod(meta_batch_size, len(variants))
        counts = {task: min(GOALS, count) for task, count in variants.items()}
        if left or any(count % max(1, share) for count in counts.values()):
            raise UsageError(
                f"got {setting('meta_batch_size', meta_batch_size)} for {len(variants)} tasks of "
                f"{' or '.join(sorted({str(count) for count in counts.values()}))} goals; "
                f"{setting('estimator', 'metaworld')} wants as many "
                "sub-environments for each task, and as many goals for each of these"
            )
        self._in_lockstep = list(
            zip(
                *(
                    _cycles(task, list(range(place, count, share)), seed=seed, draws=num_evals)
                    for task, count in counts.items()
                    for place in range(share)
                ),
                strict=True,
            )
        )

    def trials(self, unit: int) -> Sequence[Trial]:
        """The trials of a wave, in upstream's order of sub-environments."""
        return self._in_lockstep[unit]

    @property
    def quota(self) -> int:
        """The number of judged episodes in a trial."""
        return self._evaluation_episodes

    def sub_environment(self, unit: int, cell: PlanCell) -> tuple[int, int]:
        """A wave is an evaluation, a slot a sub-environment."""
        return unit, cell.k % self._batch


def _draw_variants(
    count: int, rng: np.random.Generator, episodes: int
) -> tuple[array[int], array[int]]:
    """The variant of each episode, and how often it was drawn before."""
    variants = array("I", (int(rng.choice(count)) for _ in range(episodes)))
    times: Counter[int] = Counter()
    before = array("I")
    for variant in variants:
        before.append(times[variant])
        times[variant] += 1
    return variants, before


def _cycles(task: str, variants: list[int], *, seed: int, draws: int) -> list[Trial]:
    rng = _generator(seed)
    trials = []
    for draw in range(draws):
        round_, place = divmod(draw, len(variants))
        if place == 0:
            rng.shuffle(variants)
        trials.append(Trial(task, variants[place], round_))
    return trials


def _generator(seed: int) -> np.random.Generator:
    """A generator seeded as in `gymnasium.utils.seeding.np_random`."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))

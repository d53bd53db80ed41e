"""Training episodes of an agent, without end, each drawn by its number and a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from reglue_bench.plan_settings import TrainingSettings
from reglue_bench.plans.keys import shuffled
from reglue_bench.plans.plan import Plan, PlanCell
from reglue_bench.procedures.procedure import or_default, shows_tasks
from reglue_bench.procedures.registry import procedure_of

EVALUATED_BY = "evaluated_by"
"""The parameter that names the procedure that judges."""


@dataclass(frozen=True, slots=True)
class TrainingCells:
    """Training episodes: cell n is a pure function of n, whatever was played before.

    Episode j of slot s has the number n = j · slots + s. Every task has its turn once in a round,
    and every variant of a task once before one of them comes again, in an order that the key draws.
    An agent that is shown its task gets them in the plan's order, so that a slot keeps its
    task, and workers need few simulators. A trial's episodes, which follow each other in a slot,
    play one (task, variant).
    """

    variants: Mapping[str, int]  # task -> how many it has
    slots: int
    key: bytes  # of a training seed: see plans.keys
    shows_tasks: bool = False
    trial: int = 1  # episodes of a trial
    first: int = 0  # k of episode 0 in its unit

    def cell(self, n: int) -> PlanCell:
        """Episode n, from 0."""
        episode, slot = divmod(n, self.slots)
        trial, place = divmod(episode, self.trial)
        visit, task = self._task(trial * self.slots + slot)
        name = tuple(self.variants)[task]
        again, at = divmod(visit, self.variants[name])
        label = f"variant of task {task}, pass {again}"
        return PlanCell(
            k=self.first + n,
            task=name,
            variant=_order(self.key, label, self.variants[name])[at],
            repeat=again * self.trial + place,
            phase="train",
            seed_from=(0, n),
        )

    def _task(self, number: int) -> tuple[int, int]:
        """An episode's number of earlier visits to its task, and the task's number."""
        visit, place = divmod(number, len(self.variants))
        if self.shows_tasks:
            return visit, place
        return visit, _order(self.key, f"task of round {visit}", len(self.variants))[place]


def evaluation_of(plan: Plan) -> Plan:
    """The plan of the evaluation after the training of a plan."""
    training_names = {EVALUATED_BY, *TrainingSettings.model_fields}
    parameters = {
        name: value for name, value in plan.parameters.items() if name not in training_names
    }
    procedure = str(plan.parameters[EVALUATED_BY])
    return replace(plan, procedure=procedure, parameters=parameters, training=None, training_key="")


def training_cells(plan: Plan, *, slots: int | None = None) -> TrainingCells:
    """The cells on which the agents of a plan train; also for a plan without training."""
    judge = evaluation_of(plan) if EVALUATED_BY in plan.parameters else plan
    return TrainingCells(
        plan.variants if plan.training is None else plan.training.variants,
        or_default(slots, plan.slots),
        bytes.fromhex(plan.training_key),
        shows_tasks=shows_tasks(plan),
        trial=sum(procedure_of(judge).training_trial) or 1,
    )


@lru_cache(maxsize=256)  # those of the tasks in play
def _order(key: bytes, label: str, count: int) -> tuple[int, ...]:
    """The numbers below `count`, in an order that the key draws."""
    return (0,) if count == 1 else tuple(shuffled(range(count), key, label).tolist())

"""Training, then judging: an agent learns for so many steps, is frozen, and then judged.

It wraps the procedure that judges. Phases are as in RL-Glue's and Meta-World's protocols: what is
learned from is TRAIN, and nothing is learned after `agent_freeze`.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from reglue.errors import AgentFault, UsageError, setting
from reglue_bench.plan_settings import TrainingSettings
from reglue_bench.plans.plan import Parameter, Plan, PlanCell
from reglue_bench.procedures.procedure import (
    Agents,
    Begin,
    MakeOrder,
    Procedure,
    Record,
    Todo,
    Watch,
    chosen,
    own,
    shows_tasks,
)
from reglue_bench.procedures.training_cells import TrainingCells
from reglue_bench.procedures.training_run import TrainingRun
from reglue_bench.settings import Settings

EVALUATED_BY = "evaluated_by"
"""The parameter that names the procedure that judges."""

DEFAULT_EVAL_EPISODES = 10

MOST_CHECKPOINT_EPISODES = 1_000_000
"""Of all checkpoints of a run."""


class Training(Procedure):
    """A unit is a run: training, checkpoints in between, and all that is judged after it.

    A run is resumed as a whole, since an agent that is gone has lost what it learned. Of
    its episodes, those that are judged come first (k below `judged`), then those of
    checkpoints, then those that it trained on.

    Each slot trains for an equal share of the steps, and its last episode is truncated there.
    An agent may abandon training episodes; their steps count.
    """

    about = "an agent trains, then is frozen and judged"
    unit = "run"
    settings: ClassVar[type[BaseModel]] = TrainingSettings
    scored_by = "training"
    counted_by = "training"
    trains_first = False

    @classmethod
    def parameters(cls, settings: Settings, variants: Mapping[str, int]) -> dict[str, Parameter]:
        """Steps, and where checkpoints are. Raises UsageError."""
        steps, every = settings.train_steps, settings.eval_every
        if steps is None:
            raise UsageError(
                f"training belongs to a benchmark that judges what was learned: give "
                f"{setting('train_steps', 'N')} with MT10, multi-task:ENVIRONMENT or the like"
            )
        if every is None:
            return {"train_steps": steps}
        if every > steps:
            raise UsageError(
                f"got {setting('eval_every', every)}, wanted at most the {steps} steps of training"
            )
        episodes = chosen(settings.eval_episodes, max(DEFAULT_EVAL_EPISODES, len(variants)))
        if (steps // every + 1) * episodes > MOST_CHECKPOINT_EPISODES:
            raise UsageError(
                f"got {steps // every + 1} checkpoints × {episodes} episodes, wanted at most "
                f"{MOST_CHECKPOINT_EPISODES} in all: give a larger {setting('eval_every')}"
            )
        return {"train_steps": steps, "eval_every": every, "eval_episodes": episodes}

    @classmethod
    def rehearsal(cls, plan: Plan) -> dict[str, object]:
        """Some steps for each slot, one checkpoint in the middle, and the judge's own."""
        from reglue_bench.procedures import PROCEDURES

        judged = evaluation_of(plan)
        short = dict(PROCEDURES[judged.procedure].rehearsal(judged))
        steps = min(int(plan.parameters["train_steps"]), 60 * plan.slots)
        short["train_steps"] = steps
        if "eval_every" in plan.parameters:
            short |= {"eval_every": max(1, steps // 2)}
        return short

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Of the judge's plan, and of the goals that are trained on."""
        from reglue_bench.procedures import procedure_of

        given = own(cls.settings, plan)
        return cls(
            procedure_of(evaluation_of(plan)),
            cells=training_cells(plan),
            fixed=hashlib.sha256(f"reglue checkpoints {plan.seed} {plan.cells}".encode()).digest(),
            train_steps=given["train_steps"],
            eval_every=given.get("eval_every", 0),
            eval_episodes=given.get("eval_episodes", 0),
        )

    def __init__(
        self,
        judge: Procedure,
        *,
        cells: TrainingCells,
        fixed: bytes,
        train_steps: int,
        eval_every: int = 0,
        eval_episodes: int = 0,
    ) -> None:
        """`fixed` draws the cells of checkpoints, which are the same for all training seeds."""
        self.judge = judge
        self.steps = train_steps
        self.every = eval_every  # 0: there are no checkpoints
        self.width = cells.slots
        trial = judge.training_trial
        self.at_once = cells.slots * sum(trial) if trial else eval_episodes  # of a checkpoint
        ends = accumulate(len(judge.cells(unit)) for unit in range(judge.units))
        self._begins = array("Q", (0, *ends))  # where each unit of the judge has its episodes
        self._fixed = (
            replace(cells, key=fixed)
            if trial
            else TrainingCells(cells.variants, 1, fixed, shows_tasks=True)
        )
        checkpoints = len(self.checkpoints) * self.at_once
        self.first = self.judged + checkpoints  # k of the first training episode
        self._cells = replace(cells, first=self.first)

    @property
    def units(self) -> int:
        """One."""
        return 1

    @property
    def goals(self) -> int:
        """The judge's."""
        return self.judge.goals

    @property
    def judged(self) -> int:
        """Episodes that are judged, and those in which their agent adapts."""
        return self._begins[-1]

    @property
    def checkpoints(self) -> range:
        """The steps of training after which there is a checkpoint, from 0 on."""
        return range(0, self.steps + 1, self.every) if self.every else range(0)

    @property
    def stops(self) -> list[int]:
        """The steps of training after which something else is played."""
        return sorted({*self.checkpoints, self.steps})

    def share(self, steps: int, slot: int) -> int:
        """A slot's part of so many steps."""
        return steps // self.width + (slot < steps % self.width)

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """What is judged; how many episodes are trained on is open."""
        return [self.cell(unit, k) for k in range(self.judged)]

    def cell(self, _unit: int, k: int) -> PlanCell:
        """Episode k."""
        if k >= self.first:
            return self._cells.cell(k - self.first)
        if k >= self.judged:
            return self._checkpoint_cell(k, (k - self.judged) % self.at_once)
        unit = bisect_right(self._begins, k) - 1
        cell = self.judge.cell(unit, k - self._begins[unit])
        return replace(cell, k=k, drawn_as=cell.drawn_as or (unit, cell.k))

    def steps_left(self, episodes: int, steps: int) -> float:
        """Of an episode that is judged, as its judge has it."""
        return self.judge.steps_left(0, 0) if episodes < self.judged else math.inf

    def checkpoint(self, number: int, episode: int) -> PlanCell:
        """An episode of a checkpoint."""
        return self.cell(0, self.judged + number * self.at_once + episode)

    def trained_on(self, slot: int, episode: int) -> PlanCell:
        """The training episode that is number `episode` of a slot."""
        return self._cells.cell(episode * self.width + slot)

    def k_of(self, unit: int, k: int) -> int:
        """Where the run has episode k of a unit of the judge."""
        return self._begins[unit] + k

    def judged_as(self, k: int) -> tuple[int, int]:
        """The judge's unit and k of a judged episode of the run."""
        unit = bisect_right(self._begins, k) - 1
        return unit, k - self._begins[unit]

    def play(
        self,
        agents: Agents,
        todo: Sequence[Todo],
        *,
        order: MakeOrder,
        begin: Begin,
        record: Record,
        watch: Watch,
    ) -> None:
        """Train and judge one agent; all is recorded at the end.

        When the agent is lost, what was not judged is recorded as its fault.
        """
        for asked in todo:
            glue = agents.fresh()
            begin(asked)
            run = TrainingRun(self, asked.unit, order, watch)
            try:
                run.play(glue, agents)
            except AgentFault as fault:
                record(asked, run.outcomes(fault.status, str(fault)))
                raise
            record(asked, run.outcomes())

    @classmethod
    def measured_by(cls, parameters: Mapping[str, Any]) -> str:
        """The judge's."""
        from reglue_bench.procedures import PROCEDURES

        return PROCEDURES[str(parameters[EVALUATED_BY])].measured_by(parameters)

    def _checkpoint_cell(self, k: int, episode: int) -> PlanCell:
        adapting = sum(self.judge.training_trial[:-1]) * self.width
        phase = "checkpoint_adapt" if episode < adapting else "checkpoint"
        reset = None
        if self.judge.cell(0, 0).reset is not None:  # seeded one by one: by the next numbers
            reset = self.judged + episode
        fixed = self._fixed.cell(episode)
        return replace(fixed, k=k, phase=phase, drawn_as=(0, episode), reset=reset)


def evaluation_of(plan: Plan) -> Plan:
    """What is judged after the training of a plan."""
    own = {EVALUATED_BY, *TrainingSettings.model_fields}
    parameters = {name: value for name, value in plan.parameters.items() if name not in own}
    procedure = str(plan.parameters[EVALUATED_BY])
    return replace(plan, procedure=procedure, parameters=parameters, training=None, training_key="")


def training_cells(plan: Plan, *, slots: int | None = None) -> TrainingCells:
    """What the agents of a plan train on; also of a plan without training."""
    from reglue_bench.procedures import procedure_of

    judge = evaluation_of(plan) if EVALUATED_BY in plan.parameters else plan
    return TrainingCells(
        plan.variants if plan.training is None else plan.training.variants,
        chosen(slots, plan.slots),
        bytes.fromhex(plan.training_key),
        shows_tasks=shows_tasks(plan),
        trial=sum(procedure_of(judge).training_trial) or 1,
    )

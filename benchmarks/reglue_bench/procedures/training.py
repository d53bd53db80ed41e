"""Training, then evaluation: an agent learns for some steps, is frozen, and is then judged.

It wraps the procedure that judges. Phases are as in RL-Glue's and Meta-World's protocols: what is
learned from is TRAIN, and nothing is learned after `agent_freeze`.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from glue_server import CRASHED, EpisodeRunner, Order, Outcome
from reglue.errors import AgentFault, EnvironmentFault, UsageError, setting
from reglue.messages.agent_messages import Phase
from reglue_bench.plan_settings import PlanSettings, TrainingSettings
from reglue_bench.plans.plan import Parameter, Plan, PlanCell
from reglue_bench.procedures.compact_outcomes import CompactOutcomes, InOrder
from reglue_bench.procedures.procedure import (
    Agents,
    Begin,
    MakeOrder,
    Procedure,
    Record,
    Todo,
    Todos,
    TrainedAgent,
    Watch,
    or_default,
    plan_parameters,
    recorded,
)
from reglue_bench.procedures.registry import PROCEDURES, procedure_of
from reglue_bench.procedures.training_cells import (
    EVALUATED_BY,
    TrainingCells,
    evaluation_of,
    training_cells,
)

DEFAULT_EVAL_EPISODES = 10

MOST_CHECKPOINT_EPISODES = 1_000_000
"""The most episodes of all checkpoints of a run."""

CHECKPOINT_HORIZON = 1000
"""Steps, or `--episode-limit` if that is less, after which an episode of a checkpoint is truncated
where its environment has no horizon: a policy that has learned half may go round in circles."""

MOST_WITHOUT_A_STEP = 1000
"""Training episodes in a row that end before their first step; then the run ends."""


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
    scored_by = "reglue_bench.results.learning:score_training"
    counted_by = "reglue_bench.terminal.tally:TrainingTally"
    trains_first = False

    @classmethod
    def parameters(
        cls, settings: PlanSettings, variants: Mapping[str, int]
    ) -> dict[str, Parameter]:
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
                got=setting("eval_every", every), wanted=f"at most the {steps} steps of training"
            )
        episodes = or_default(settings.eval_episodes, max(DEFAULT_EVAL_EPISODES, len(variants)))
        if (steps // every + 1) * episodes > MOST_CHECKPOINT_EPISODES:
            raise UsageError(
                got=f"{steps // every + 1} checkpoints × {episodes} episodes",
                wanted=(
                    f"at most {MOST_CHECKPOINT_EPISODES} in all: give a larger "
                    f"{setting('eval_every')}"
                ),
            )
        return {"train_steps": steps, "eval_every": every, "eval_episodes": episodes}

    @classmethod
    def rehearsal(cls, plan: Plan) -> dict[str, object]:
        """Some steps for each slot, one checkpoint in the middle, then a short evaluation."""
        judged = evaluation_of(plan)
        short = dict(PROCEDURES[judged.procedure].rehearsal(judged))
        steps = min(int(plan.parameters["train_steps"]), 60 * plan.slots)
        short["train_steps"] = steps
        if "eval_every" in plan.parameters:
            short |= {"eval_every": max(1, steps // 2)}
        return short

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """A procedure that trains on the plan's training goals, and judges as its plan says."""
        parameters = plan_parameters(cls.settings, plan)
        return cls(
            procedure_of(evaluation_of(plan)),
            cells=training_cells(plan),
            fixed=hashlib.sha256(f"reglue checkpoints {plan.seed} {plan.cells}".encode()).digest(),
            train_steps=parameters["train_steps"],
            eval_every=parameters.get("eval_every", 0),
            eval_episodes=parameters.get("eval_episodes", 0),
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
        """One: a run is resumed as a whole."""
        return 1

    @property
    def goals(self) -> int:
        """The number of goals that are judged."""
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
        """The share of one slot in `steps` steps of training."""
        return steps // self.width + (slot < steps % self.width)

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """The judged cells; how many episodes are trained on is open."""
        return [self.cell(unit, k) for k in range(self.judged)]

    def cell(self, _unit: int, k: int) -> PlanCell:
        if k >= self.first:
            return self._cells.cell(k - self.first)
        if k >= self.judged:
            return self._checkpoint_cell(k, (k - self.judged) % self.at_once)
        unit, judged_k = self.judged_as(k)
        cell = self.judge.cell(unit, judged_k)
        return replace(cell, k=k, seed_from=cell.seed_from or (unit, cell.k))

    def steps_left(self, episodes: int, steps: int) -> float:
        """The steps left to an evaluation episode, according to the evaluating procedure."""
        return self.judge.steps_left(0, 0) if episodes < self.judged else math.inf

    def checkpoint(self, number: int, episode: int) -> PlanCell:
        """Episode number `episode` of checkpoint number `number`."""
        return self.cell(0, self.judged + number * self.at_once + episode)

    def trained_on(self, slot: int, episode: int) -> PlanCell:
        """The training episode that is number `episode` of a slot."""
        return self._cells.cell(episode * self.width + slot)

    def k_of(self, unit: int, k: int) -> int:
        """The place in this run of episode k of a unit of the evaluating procedure."""
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
        for item in todo:
            glue = agents.fresh()
            begin(item)
            run = TrainingRun(self, item.unit, order, watch)
            with recorded(item, record, run.outcomes, run.judged.values()):
                run.play(glue, agents)

    @classmethod
    def measured_by(cls, parameters: Mapping[str, Any]) -> str:
        """The measure of the evaluation."""
        return PROCEDURES[str(parameters[EVALUATED_BY])].measured_by(parameters)

    def _checkpoint_cell(self, k: int, episode: int) -> PlanCell:
        adapting = sum(self.judge.training_trial[:-1]) * self.width
        phase = "checkpoint_adapt" if episode < adapting else "checkpoint"
        reset = None
        if self.judge.cell(0, 0).reset is not None:  # seeded one by one: by the next numbers
            reset = self.judged + episode
        fixed = self._fixed.cell(episode)
        return replace(fixed, k=k, phase=phase, seed_from=(0, episode), reset=reset)


class TrainingRun:
    """One run in play: what slots have taken, and the outcomes so far."""

    def __init__(self, procedure: Training, unit: int, order: MakeOrder, watch: Watch) -> None:
        self._procedure = procedure
        self._unit = unit
        self._order = order
        self._watch = watch
        self._taken = [0] * procedure.width  # training steps
        self._begun = [0] * procedure.width  # training episodes
        self._without_a_step = 0  # training episodes in a row
        self.judged: dict[int, Outcome] = {}  # outcomes, by k
        self._others = CompactOutcomes(self._ordered)  # all else

    def play(self, glue: EpisodeRunner, agents: Agents) -> None:
        """Train, freeze, judge. Raises AgentFault, EnvironmentFault."""
        procedure = self._procedure
        glue.init()
        for steps in procedure.stops:
            self._train(glue, steps)
            if steps in procedure.checkpoints:
                self._check(glue, procedure.checkpoints.index(steps))
        glue.freeze()
        glue.keep_learned()
        judge = procedure.judge
        judge.play(
            TrainedAgent(agents, glue),
            Todos(array("I", range(judge.units)), array("I", [0]) * judge.units),
            order=self._order,
            begin=lambda _todo: None,  # the run has begun
            record=self._judged,
            watch=self._watch,
        )

    def outcomes(self, status: str, detail: str) -> Sequence[Outcome]:
        """The outcomes so far; judged episodes that were not played end as the agent did."""
        judged = [
            self.judged.get(k) or Outcome(self._ordered(k), status, detail=detail)
            for k in range(self._procedure.judged)
        ]
        return InOrder(judged, self._others)

    def _ordered(self, k: int) -> Order:
        return self._order(self._unit, self._procedure.cell(self._unit, k))

    # Training.

    def _train(self, glue: EpisodeRunner, until: int) -> None:
        """Go on until every slot has taken its share of `until` steps.

        A meta-learner plays trials as it will when it is judged, and whole ones if steps are left.
        """
        procedure = self._procedure
        trial = procedure.judge.training_trial
        while any(taken < procedure.share(until, slot) for slot, taken in enumerate(self._taken)):
            if not trial:
                self._episodes(glue, until)
                continue
            glue.adapt_begin()
            for count in trial[:-1]:
                self._episodes(glue, procedure.steps, count)
                glue.adapt()
            self._episodes(glue, procedure.steps, trial[-1])

    def _episodes(self, glue: EpisodeRunner, until: int, count: float = math.inf) -> None:
        """Play at most `count` episodes in each slot; none begins after its share of `until`."""
        procedure = self._procedure
        left = [count] * procedure.width

        def next_order(slot: int) -> Order | None:
            if not left[slot] or self._taken[slot] >= procedure.share(until, slot):
                return None
            left[slot] -= 1
            cell = procedure.trained_on(slot, self._begun[slot])
            self._begun[slot] += 1
            steps = procedure.share(procedure.steps, slot) - self._taken[slot]
            return replace(self._order(self._unit, cell), max_steps=steps, truncates=True)

        for outcome in glue.play(next_order, Phase.TRAIN):
            self._taken[(outcome.order.k - procedure.first) % procedure.width] += outcome.steps
            self._keep(outcome, "train")
            self._without_a_step = 0 if outcome.steps else self._without_a_step + 1
            if self._without_a_step == MOST_WITHOUT_A_STEP:
                self._refuse(outcome)

    def _refuse(self, last: Outcome) -> None:
        message = f"{MOST_WITHOUT_A_STEP} training episodes in a row ended before their first step"
        if last.status in (EnvironmentFault.status, CRASHED):
            raise EnvironmentFault(f"{message}; the last: {last.detail}")
        raise AgentFault(f"{message}; the last: {last.status}, {last.detail}")

    # Checkpoints.

    def _check(self, glue: EpisodeRunner, number: int) -> None:
        """Play the fixed episodes of a checkpoint; the agent sees the phase, and is not frozen."""
        procedure = self._procedure
        trial = procedure.judge.training_trial
        if not trial:
            episodes = iter(range(procedure.at_once))
            self._checked(glue, number, lambda _slot: next(episodes, None), Phase.EVALUATE)
            return
        glue.adapt_begin()
        before = 0
        for place, count in enumerate(trial):
            slots = [iter(range(before, before + count)) for _ in range(procedure.width)]
            before += count
            is_last = place == len(trial) - 1

            def following(slot: int, slots: list[Iterator[int]] = slots) -> int | None:
                episode = next(slots[slot], None)
                return None if episode is None else episode * procedure.width + slot

            self._checked(glue, number, following, Phase.EVALUATE if is_last else Phase.ADAPT)
            if not is_last:
                glue.adapt()

    def _checked(
        self, glue: EpisodeRunner, number: int, following: Callable[[int], int | None], phase: Phase
    ) -> None:
        def next_order(slot: int) -> Order | None:
            episode = following(slot)
            if episode is None:
                return None
            cell = self._procedure.checkpoint(number, episode)
            limit = min(self._procedure.judge.steps_left(0, 0), CHECKPOINT_HORIZON)
            most = 0 if glue.spec.horizon else int(limit)
            return replace(self._order(self._unit, cell), max_steps=most, truncates=True)

        for outcome in glue.play(next_order, phase):
            self._keep(outcome, "checkpoint" if phase is Phase.EVALUATE else "checkpoint_adapt")

    def _keep(self, outcome: Outcome, phase: str) -> None:
        """Keep an outcome without its actions, since training has no end."""
        self._others.add(outcome)
        self._watch(outcome, phase)

    def _judged(self, todo: Todo, outcomes: Iterable[Outcome]) -> None:
        """Receives the outcomes of a judged unit."""
        for outcome in outcomes:
            k = self._procedure.k_of(todo.unit, outcome.order.k)
            self.judged[k] = replace(outcome, order=replace(outcome.order, unit=self._unit, k=k))

"""Meta-learning evaluation: waves of trials; adapt, freeze, evaluate.

Source: Meta-World's documentation, "Evaluation", Meta-Reinforcement Learning, and
`metaworld.evaluation.metalearning_evaluation` for the order of the agent's calls.
Upstream counts three evaluation episodes for each task name. The document asks for three for
each goal, as here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import BaseModel

from glue_server import LOST, EpisodeRunner, Order, Outcome
from reglue.errors import EnvironmentFault, UsageError, setting
from reglue.messages.agent_messages import Phase
from reglue_bench.plan_settings import MetaLearningSettings, PlanSettings
from reglue_bench.plans.keys import shuffled
from reglue_bench.plans.plan import Parameter, Plan, PlanCell
from reglue_bench.procedures.procedure import (
    Agents,
    Begin,
    MakeOrder,
    Procedure,
    Record,
    Todo,
    Watch,
    or_default,
    plan_parameters,
    recorded,
)

DEFAULT_META_BATCH = 20

GOALS = 40
"""Variants of a task that are played: "each of them also has 40 goal positions"."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Adaptation and evaluation on one (task, variant)."""

    task: str
    variant: int
    round: int  # how often this (task, variant) was played before
    home: tuple[int, int] | None = None  # its wave and slot in the plan's own order


class MetaLearning(Procedure):
    """A unit is a wave: a meta-batch of trials, one for each slot, played together.

    Which trial is in which wave and slot follows `order_key`, so that neither tells an agent
    its task; without one trials are in the plan's own order, as seeds always are.
    """

    about = "the agent adapts to each goal, then is judged on it"
    unit = "wave"
    settings: ClassVar[type[BaseModel]] = MetaLearningSettings
    slots_setting = "meta_batch_size"
    adapts = True
    compares_goals = True

    @classmethod
    def parameters(
        cls, settings: PlanSettings, variants: Mapping[str, int]
    ) -> dict[str, Parameter]:
        """Meta-World's defaults, and enough waves to play every goal once."""
        batch = or_default(settings.meta_batch_size, DEFAULT_META_BATCH)
        return {
            "num_evals": or_default(settings.num_evals, -(-len(trials(variants)) // batch)),
            "adaptation_steps": or_default(settings.adaptation_steps, 1),
            "adaptation_episodes": or_default(settings.adaptation_episodes, 10),
            "evaluation_episodes": or_default(settings.evaluation_episodes, 3),
            "meta_batch_size": batch,
            "evaluate_before_adaptation": or_default(settings.evaluate_before_adaptation, False),
            **({} if settings.agents is None else {"agents": settings.agents}),
        }

    @classmethod
    def slots(cls, settings: PlanSettings, _default: int) -> int:
        """The number of slots: one for each trial of a wave."""
        batch = or_default(settings.meta_batch_size, DEFAULT_META_BATCH)
        if settings.slots not in (None, batch):
            raise UsageError(
                f"got {setting('slots', settings.slots)}: a meta-learner plays a slot for each "
                f"trial of its meta-batch; give {setting('meta_batch_size', settings.slots)}"
            )
        return batch

    @classmethod
    def rehearsal(cls, _plan: Plan) -> dict[str, object]:
        """A single wave."""
        return {"num_evals": 1, "adaptation_episodes": 2, "evaluation_episodes": 1}

    @classmethod
    def of(cls, plan: Plan) -> Self:
        key = bytes.fromhex(plan.order_key)
        return cls(plan.variants, order_key=key, **plan_parameters(cls.settings, plan))

    def __init__(  # noqa: PLR0913 - Meta-World's parameters
        self,
        variants: Mapping[str, int],
        *,
        num_evals: int,
        adaptation_steps: int,
        adaptation_episodes: int,
        evaluation_episodes: int,
        meta_batch_size: int,
        evaluate_before_adaptation: bool,
        agents: int = 1,
        order_key: bytes = b"",
    ) -> None:
        self._agents = agents
        self._trials = trials(variants)
        self._waves = -(-len(self._trials) // meta_batch_size)  # that play each trial once
        self._order_key = order_key
        self._order: tuple[int, Sequence[int]] = (-1, ())  # a round, and its trials by number
        self._num_evals = num_evals
        self._adaptation_steps = adaptation_steps
        self._adaptation_episodes = adaptation_episodes
        self._evaluation_episodes = evaluation_episodes
        self._batch = meta_batch_size
        self._evaluate_before = evaluate_before_adaptation

    @property
    def units(self) -> int:
        """The number of waves."""
        return self._num_evals

    @property
    def agents(self) -> int:
        """Copies of a meta-learner, which begins anew with each wave."""
        return self._agents

    @property
    def goals(self) -> int:
        """The first 40 variants of all tasks."""
        return len(self._trials)

    @property
    def training_trial(self) -> tuple[int, ...]:
        """The episodes of a trial, as when it is judged."""
        return (*[self._adaptation_episodes] * self._adaptation_steps, self._evaluation_episodes)

    def trials(self, unit: int) -> Sequence[Trial]:
        """The trials of a wave, in the order of slots.

        The wave that completes the goals is padded with idle slots; further waves
        begin again with the first goal.
        """
        round_, wave = divmod(unit, self._waves)
        batch = self._in_order(round_)[wave * self._batch : (wave + 1) * self._batch]
        return [
            Trial(*self._trials[number], round_, self._home(round_, number)) for number in batch
        ]

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """Evaluation before, adaptation, evaluation; in each, episode by episode over slots."""
        batch = self.trials(unit)
        judged = self._evaluation_episodes
        episodes = [("evaluate_before", e) for e in range(judged if self._evaluate_before else 0)]
        episodes += [
            ("adapt", e) for e in range(self._adaptation_steps * self._adaptation_episodes)
        ]
        episodes += [("evaluate", e) for e in range(judged)]
        counts = {phase: sum(p == phase for p, _ in episodes) for phase, _ in episodes}
        return [
            PlanCell(
                k=place * len(batch) + slot,
                task=trial.task,
                variant=trial.variant,
                repeat=trial.round * counts[phase] + episode,
                phase=phase,
                seed_from=self._seed_from(trial, place),
            )
            for place, (phase, episode) in enumerate(episodes)
            for slot, trial in enumerate(batch)
        ]

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
        """Play one wave after another."""
        glue = agents.fresh()
        glue.init()
        for item in todo:
            begin(item)
            wave = _Wave(self.cells(item.unit), len(self.trials(item.unit)), item.unit, order)
            with recorded(item, record, wave.outcomes, wave.played.values()):
                self._play_phases(glue, wave, watch)
        glue.cleanup()

    def _in_order(self, round_: int) -> Sequence[int]:
        """Numbers of the trials that a round plays; the last one may not play all."""
        if self._order[0] != round_:
            waves = min(self._waves, self._num_evals - round_ * self._waves)
            numbers = range(min(waves * self._batch, len(self._trials)))
            order = shuffled(numbers, self._order_key, f"trial of round {round_}").tolist()
            self._order = (round_, order if self._order_key else numbers)
        return self._order[1]

    def _home(self, round_: int, number: int) -> tuple[int, int]:
        wave, slot = divmod(number, self._batch)
        return round_ * self._waves + wave, slot

    def _seed_from(self, trial: Trial, place: int) -> tuple[int, int] | None:
        """The unit and k of a trial's episode in the plan's own order."""
        if trial.home is None:
            return None
        unit, slot = trial.home
        before = unit % self._waves * self._batch
        return unit, place * min(self._batch, len(self._trials) - before) + slot

    def _play_phases(self, glue: EpisodeRunner, wave: _Wave, watch: Watch) -> None:
        if self._evaluate_before:
            glue.adapt_begin()
            glue.freeze()
            wave.play(glue, "evaluate_before", self._evaluation_episodes, watch)
        glue.adapt_begin()
        for _ in range(self._adaptation_steps):
            wave.play(glue, "adapt", self._adaptation_episodes, watch)
            glue.adapt()
        glue.freeze()
        wave.play(glue, "evaluate", self._evaluation_episodes, watch)


def trials(variants: Mapping[str, int]) -> list[tuple[str, int]]:
    """All (task, variant) to play, variant by variant over the tasks."""
    return [
        (task, variant)
        for variant in range(GOALS)
        for task, count in variants.items()
        if variant < count
    ]


class _Wave:
    """One wave in play: the cells that each slot has left, and the outcomes so far."""

    def __init__(self, cells: Sequence[PlanCell], width: int, unit: int, order: MakeOrder) -> None:
        self._cells = cells
        self._unit = unit
        self._order = order
        self._left: dict[tuple[str, int], Iterator[PlanCell]] = {
            (phase, slot): iter([c for c in cells[slot::width] if c.phase == phase])
            for phase in {cell.phase for cell in cells}
            for slot in range(width)
        }
        self._slots = {cell.k: cell.k % width for cell in cells}
        self.played: dict[int, Outcome] = {}  # by k
        self._broken: dict[int, Outcome] = {}  # slot -> what ended its trial

    def play(self, glue: EpisodeRunner, phase: str, episodes: int, watch: Watch) -> None:
        """Play the next `episodes` episodes of `phase` in every slot whose trial is whole."""
        left = dict.fromkeys(self._slots.values(), episodes)

        def next_order(slot: int) -> Order | None:
            if slot in self._broken or not left.get(slot):
                return None
            left[slot] -= 1
            return self._order(self._unit, next(self._left[phase, slot]))

        wire = Phase.ADAPT if phase == "adapt" else Phase.EVALUATE
        for outcome in glue.play(next_order, wire):
            self._take(outcome, phase)
            watch(outcome, phase)

    def outcomes(self, status: str, detail: str) -> list[Outcome]:
        """An outcome for each cell. Unplayed cells end as their trial, or as the agent, did."""
        return [self._outcome(cell, status, detail) for cell in self._cells]

    def _take(self, outcome: Outcome, phase: str) -> None:
        """Keep an outcome. A fault while adapting, or of the environment, ends the trial."""
        self.played[outcome.order.k] = outcome
        fatal = outcome.status in (EnvironmentFault.status, LOST) or phase == "adapt"
        if outcome.status != "ok" and fatal:
            self._broken[self._slots[outcome.order.k]] = outcome

    def _outcome(self, cell: PlanCell, status: str, detail: str) -> Outcome:
        if cell.k in self.played:
            return self.played[cell.k]
        if ended := self._broken.get(self._slots[cell.k]):
            status, detail = ended.status, ended.detail
        return Outcome(self._order(self._unit, cell), status, detail=detail)

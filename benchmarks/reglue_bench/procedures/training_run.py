"""One run of a training procedure in play: an agent trains, is checked, frozen and judged."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from glue_server import CRASHED, EpisodeRunner, Order, Outcome
from reglue.errors import AgentFault, EnvironmentFault
from reglue.messages.agent import Phase
from reglue_bench.procedures.kept_outcomes import InOrder, KeptOutcomes
from reglue_bench.procedures.procedure import Agents, MakeOrder, Todo, Todos, Watch

if TYPE_CHECKING:
    from reglue_bench.procedures.training import Training

CHECKPOINT_HORIZON = 1000
"""Steps, or `--episode-limit` if that is less, after which an episode of a checkpoint is truncated
where its environment has no horizon: a policy that has learned half may go round in circles."""

MOST_WITHOUT_A_STEP = 1000
"""Training episodes in a row that end before their first step; then the run ends."""


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
        self._found: dict[int, Outcome] = {}  # what was judged, by k
        self._kept = KeptOutcomes(self._ordered)  # all else

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
            _TrainedAgent(agents, glue),
            Todos(array("I", range(judge.units)), array("I", [0]) * judge.units),
            order=self._order,
            begin=lambda _todo: None,  # the run has begun
            record=self._judged,
            watch=self._watch,
        )

    def outcomes(self, status: str = "", detail: str = "") -> Sequence[Outcome]:
        """What was played; what should have been judged and was not ended as the agent did."""
        judged = [
            self._found.get(k) or Outcome(self._ordered(k), status, detail=detail)
            for k in range(self._procedure.judged)
        ]
        return InOrder(judged, self._kept)

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
        words = f"{MOST_WITHOUT_A_STEP} training episodes in a row ended before their first step"
        if last.status in (EnvironmentFault.status, CRASHED):
            raise EnvironmentFault(f"{words}; the last: {last.detail}")
        raise AgentFault(f"{words}; the last: {last.status}, {last.detail}")

    # Checkpoints.

    def _check(self, glue: EpisodeRunner, number: int) -> None:
        """Play the fixed episodes of a checkpoint; the agent is told the phase, and not frozen."""
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
        self,
        glue: EpisodeRunner,
        number: int,
        following: Callable[[int], int | None],
        phase: Phase,
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
        """Without its actions: there is no end to training."""
        self._kept.add(outcome)
        self._watch(outcome, phase)

    # What is judged.

    def _judged(self, todo: Todo, outcomes: Iterable[Outcome]) -> None:
        """A unit of the judge is over."""
        for outcome in outcomes:
            k = self._procedure.k_of(todo.unit, outcome.order.k)
            self._found[k] = replace(outcome, order=replace(outcome.order, unit=self._unit, k=k))


@dataclass(frozen=True, slots=True)
class _TrainedAgent:
    """Gives a judge the agent that has been trained; see Agents."""

    agents: Agents
    glue: EpisodeRunner

    def fresh(self) -> EpisodeRunner:
        """The same agent, which keeps what it has learned."""
        return self.glue

    def explain(self, fault: AgentFault) -> str:
        """As the run's."""
        return self.agents.explain(fault)

    def go_on(self, fault: AgentFault) -> None:
        """There is no other agent that has learned this."""
        raise fault

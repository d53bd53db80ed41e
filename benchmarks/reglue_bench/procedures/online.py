"""Online learning, RL-Glue's own procedure: independent runs, judged while they learn.

Source: RL-Glue concepts 1.0, RL_benchmark: "averaging over a sequence of independent
runs, each starting with a naive (before learning) agent and proceeding through a number
of episodes or a single long episode".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from glue_server import LOST, Order, Outcome
from reglue.errors import AgentFault, EnvironmentFault, UsageError, setting
from reglue.messages.agent_messages import Phase
from reglue_bench.plan_settings import PER_RUN, ROTATE, OnlineSettings, PlanSettings
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
    secret_order,
)

DEFAULT_RUNS = 30
DEFAULT_EPISODES = 200

EPISODE_LIMIT = 10_000_000
"""Steps, as in the concepts page's RL_benchmark: `RL_episode(10000000)`."""

REHEARSED_STEPS = 300


class Online(Procedure):
    """A unit is a run: a naive agent that plays one episode after another and is never frozen.

    A run is over after `episodes` episodes, or after `steps` steps, where the last
    episode is cut off. An episode is cut off after `episode_limit` steps too. Tasks take turns.
    If `variants` rotate, episode k plays the (task, variant) that multi-task's episode k would;
    per run, run i plays variant i of each task, modulo how many it has. With an `order_key` the
    episodes of one such rotation are in an order that it draws for each run. Anything but `ok`
    ends the run that it happens in: what an agent learns after it is not what was planned.
    """

    about = "independent runs from a naive agent, judged while it learns"
    unit = "run"
    settings: ClassVar[type[BaseModel]] = OnlineSettings
    workers = 0  # one episode at a time: a worker would only add a message to each step
    keeps_rewards = True
    hides_rewards = False
    counts_steps = True
    scored_by = "reglue_bench.results.learning:score_online"
    counted_by = "reglue_bench.terminal.tally:LearningTally"
    judges_success = False
    trains_first = False
    endless = MappingProxyType({"steps": 10_000})

    @classmethod
    def parameters(
        cls, settings: PlanSettings, variants: Mapping[str, int]
    ) -> dict[str, Parameter]:
        """A run is a number of episodes or of steps. `variants` is a parameter if it is per run."""
        if settings.episodes and settings.steps:
            raise UsageError(
                f"got {setting('episodes')} and {setting('steps')}; a run is counted in one of them"
            )
        quota = settings.steps or or_default(settings.episodes, DEFAULT_EPISODES)
        metric = or_default(settings.metric, "all")
        measured(metric, quota)  # raises UsageError
        runs: int = DEFAULT_RUNS
        parameters: dict[str, Parameter] = {}
        if settings.variants == PER_RUN:
            most = max(variants.values())
            runs = -(-DEFAULT_RUNS // most) * most  # so that each variant is played equally often
            parameters["variants"] = PER_RUN
        return {
            "runs": or_default(settings.runs, runs),
            "steps" if settings.steps else "episodes": quota,
            "episode_limit": or_default(settings.episode_limit, EPISODE_LIMIT),
            "metric": metric,
            **parameters,
        }

    @classmethod
    def slots(cls, settings: PlanSettings, _default: int) -> int:
        """One slot: an agent plays one episode after another."""
        if settings.slots not in (None, 1):
            raise UsageError(
                f"got {setting('slots', settings.slots)}: an agent that learns online plays one "
                "episode after another; omit it"
            )
        return 1

    @classmethod
    def rehearsal(cls, _plan: Plan) -> dict[str, object]:
        """Two runs, in steps: an agent that knows nothing may play long episodes."""
        return {"runs": 2, "episodes": None, "steps": REHEARSED_STEPS}

    @classmethod
    def of(cls, plan: Plan) -> Self:
        return cls(
            plan.variants, order_key=secret_order(plan), **plan_parameters(cls.settings, plan)
        )

    def __init__(  # noqa: PLR0913 - the plan's parameters
        self,
        counts: Mapping[str, int],
        *,
        runs: int,
        metric: str,
        episode_limit: int,
        episodes: int = 0,
        steps: int = 0,
        variants: str = ROTATE,
        order_key: bytes = b"",
    ) -> None:
        """`counts` has the number of variants of each task."""
        self.metric = metric
        self.episodes = episodes  # 0 if a run is counted in steps
        self.steps = steps  # 0 if a run is counted in episodes
        self._runs = runs
        self._limit = episode_limit
        self._counts = counts
        self._tasks = tuple(counts)
        self._is_per_run = variants == PER_RUN
        rounds = 1 if self._is_per_run else max(counts.values())
        self._rotation = len(counts) * rounds  # episodes that play each variant of the run
        self._order_key = order_key
        self._order: tuple[int, int, Sequence[int]] = (-1, 0, ())  # a run, its episodes from one on

    @property
    def units(self) -> int:
        """The number of runs."""
        return self._runs

    @property
    def agents(self) -> int:
        """The number of runs: each has an agent of its own."""
        return self._runs

    @property
    def goals(self) -> int:
        """The number of variants of all tasks."""
        return sum(self._counts.values())

    @property
    def goals_planned(self) -> int:
        """The number of variants that its runs play; all, if they rotate in a number of steps."""
        if self._is_per_run:
            tasks = self._tasks[: self.episodes or None]
            return sum(min(self._runs, self._counts[task]) for task in tasks)
        return len({(cell.task, cell.variant) for cell in self.cells(0)}) or self.goals

    @property
    def quota(self) -> int:
        """The number of episodes, or else of steps, in a run."""
        return self.episodes or self.steps

    def cell(self, unit: int, k: int) -> PlanCell:
        """Episode k of a run; without a key what differs between runs is its seed."""
        planned = self._planned(unit, k) if self._order_key else k
        episode, place = divmod(planned, len(self._tasks))
        task = self._tasks[place]
        count = self._counts[task]
        repeat, variant = (episode, unit % count) if self._is_per_run else divmod(episode, count)
        seed_from = (unit, planned) if self._order_key else None
        return PlanCell(k, task, variant, repeat, "train", seed_from=seed_from)

    def variant(self, unit: int) -> int | None:
        """The one variant that a run plays of each task; None if there are several."""
        if not self._is_per_run:
            return None
        numbers = {unit % count for count in self._counts.values()}
        return numbers.pop() if len(numbers) == 1 else None

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """A run's episodes; none if it is counted in steps."""
        return [self.cell(unit, k) for k in range(self.episodes)]

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
        """Play run after run, each with a naive agent."""
        for item in todo:
            begin(item)
            run = _Run(self, item.unit, order, watch)
            try:
                self._play_run(agents, run)
            except (EnvironmentFault, KeyboardInterrupt):
                if run.outcomes and run.outcomes[-1].status == LOST:
                    record(item, run.outcomes)
                raise
            record(item, run.outcomes)
            if run.fault is not None:
                agents.go_on(run.fault)

    def steps_left(self, episodes: int, steps: int) -> int:
        """Up to the limit of an episode, and to the run's own end."""
        if self.episodes:
            return self._limit if episodes < self.episodes else 0
        return min(self._limit, self.steps - steps)

    @classmethod
    def measured_by(cls, _parameters: Mapping[str, Any]) -> str:
        """The performance of runs."""
        return "reglue_bench.renderers.kinds:PERFORMANCE"

    def _planned(self, unit: int, k: int) -> int:
        """The number, in the plan's own order, of a run's episode k."""
        first = k - k % self._rotation
        if self._order[:2] != (unit, first):
            end = min(first + self._rotation, self.episodes or math.inf)
            numbers = range(first, int(end))  # all runs play the same, also if it is no whole pass
            order = shuffled(numbers, self._order_key, f"episode of run {unit}")
            self._order = (unit, first, order.tolist())
        return first + self._order[2][k - first]

    def _play_run(self, agents: Agents, run: _Run) -> None:
        glue = agents.fresh()
        try:
            glue.init()
            for outcome in glue.play(run.next_order, Phase.TRAIN):
                run.take(outcome)
            glue.cleanup()
        except AgentFault as fault:
            run.lose(fault, agents.explain(fault))


def measured(metric: str, quota: int) -> int:
    """The number of episodes or steps at a run's end that count: all, or N of `final:N`.

    Raises UsageError for anything else, and for more than a run has.
    """
    if metric == "all":
        return quota
    kind, _, number = metric.partition(":")
    if kind != "final" or not number.isdecimal() or int(number) < 1:
        raise UsageError(got=setting("metric", metric), wanted="all, or final:N such as final:100")
    if int(number) > quota:
        raise UsageError(
            f"got {setting('metric', metric)}, but a run has only {quota}: give final:{quota} or "
            "less"
        )
    return int(number)


class _Run:
    """One try of a run: its outcomes so far, and its next episode."""

    def __init__(self, procedure: Online, unit: int, order: MakeOrder, watch: Watch) -> None:
        self.outcomes: list[Outcome] = []
        self.fault: AgentFault | None = None  # the agent was lost
        self._procedure = procedure
        self._unit = unit
        self._order = order
        self._watch = watch
        self._steps = 0

    def next_order(self, _slot: int) -> Order | None:
        """The next episode, until the run is over."""
        steps = self._steps_left()
        return replace(self._next(), max_steps=steps) if steps else None

    def take(self, outcome: Outcome) -> None:
        """Receives the outcome of an episode."""
        self.outcomes.append(outcome)
        self._steps += outcome.steps
        self._watch(outcome, "train")

    def lose(self, fault: AgentFault, detail: str) -> None:
        """The agent is lost: its fault, unless the run was over before."""
        self.fault = fault
        if self.outcomes and self.outcomes[-1].detail == str(fault):  # in mid-episode
            self.outcomes[-1] = replace(self.outcomes[-1], detail=detail)
        elif self._steps_left():
            self.take(Outcome(self._next(), fault.status, detail=detail))

    def _steps_left(self) -> int:
        if self.outcomes and self.outcomes[-1].status != "ok":
            return 0
        return self._procedure.steps_left(len(self.outcomes), self._steps)

    def _next(self) -> Order:
        order = self._order(self._unit, self._procedure.cell(self._unit, len(self.outcomes)))
        return self._procedure.after_steps(order, self._steps)

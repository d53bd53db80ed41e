"""Multi-task evaluation: a frozen agent plays every (task, variant) equally often.

Source: Meta-World's documentation, "Evaluation", Multi-Task Reinforcement Learning:
one episode for each training goal of each task; success is the flag at any step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Self

from pydantic import BaseModel

from glue_server import Order
from reglue.errors import UsageError, setting
from reglue.messages.agent import Phase
from reglue_bench.plan_settings import MultiTaskSettings
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
    shows_tasks,
)
from reglue_bench.procedures.queues import ByTask, Queue, Shuffled
from reglue_bench.settings import Settings

MOST_EPISODES = 10_000_000
"""Of a plan: each takes some bytes of memory before the first is played."""


EPISODE_LIMIT = 100_000
"""Steps: an environment without a time limit, and a policy that never ends, must not hang a run."""


class MultiTask(Procedure):
    """A unit is one episode. A free slot takes the next one at once.

    Episode n of a task plays variant n mod V, repeat n div V. `shows_tasks` says that the
    agent sees which task it plays, so that the order of play may follow tasks. Episodes, of
    each task or of all, follow `order_key`.
    """

    about = "a frozen agent plays every goal of every task"
    settings: ClassVar[type[BaseModel]] = MultiTaskSettings

    @classmethod
    def parameters(cls, settings: Settings, variants: Mapping[str, int]) -> dict[str, Parameter]:
        """The parameters; by default one episode a goal, as in Meta-World. Raises UsageError."""
        episodes = or_default(settings.num_episodes, max(variants.values()))
        if len(variants) * episodes > MOST_EPISODES:
            raise UsageError(
                f"got a plan of {len(variants)} tasks × {episodes} episodes, wanted at most "
                f"{MOST_EPISODES} in all: give fewer by {setting('num_episodes')}"
            )
        options = {"episode_limit": settings.episode_limit, "agents": settings.agents}
        parameters = {name: value for name, value in options.items() if value is not None}
        return {"num_episodes": episodes, **parameters}

    @classmethod
    def without_horizon(cls) -> dict[str, Parameter]:
        """A limit of steps for each episode."""
        return {"episode_limit": EPISODE_LIMIT}

    @classmethod
    def rehearsal(cls, plan: Plan) -> dict[str, object]:
        """Enough episodes to use each slot twice."""
        return {"slots": plan.slots, "num_episodes": -(-2 * plan.slots // len(plan.variants))}

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """A procedure that plays all goals of the plan."""
        parameters = plan_parameters(cls.settings, plan)
        return cls(
            plan.variants, shows_tasks=shows_tasks(plan), order_key=order_key(plan), **parameters
        )

    def __init__(
        self,
        variants: Mapping[str, int],
        *,
        num_episodes: int,
        episode_limit: int = 0,
        agents: int = 1,
        shows_tasks: bool = False,
        order_key: bytes = b"",
    ) -> None:
        self._agents = agents
        self._tasks = tuple(variants)
        self._variants = variants
        self._num_episodes = num_episodes
        self._episode_limit = episode_limit  # 0: episodes play to their end
        self._shows_tasks = shows_tasks
        self._order_key = order_key

    @property
    def units(self) -> int:
        """The number of episodes: tasks × episodes of each."""
        return len(self._tasks) * self._num_episodes

    @property
    def agents(self) -> int:
        """The number of copies of the frozen agent that may play."""
        return self._agents

    @property
    def goals(self) -> int:
        """The number of variants of all tasks."""
        return sum(self._variants.values())

    def steps_left(self, _episodes: int, _steps: int) -> float:
        """The limit of an episode, in steps."""
        return self._episode_limit or math.inf

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """The single episode of a unit."""
        episode, place = divmod(unit, len(self._tasks))
        task = self._tasks[place]
        repeat, variant = divmod(episode, self._variants[task])
        return (PlanCell(0, task, variant, repeat, "evaluate"),)

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
        """Play the episode of each unit with the frozen agent."""
        glue = agents.fresh()
        queue = self._queue(todo, glue.spec.slots)
        playing: dict[int, Todo] = {}

        def next_order(slot: int) -> Order | None:
            taken = queue.take(slot)
            if taken is None:
                return None
            begin(taken)
            playing[taken.unit] = taken
            ordered = order(taken.unit, self.cells(taken.unit)[0])
            return replace(ordered, max_steps=self._episode_limit)

        glue.init()
        glue.freeze()
        for outcome in glue.play(next_order, Phase.EVALUATE):
            queue.tell(outcome)
            watch(outcome, "evaluate")
            record(playing.pop(outcome.order.unit), [outcome])
        glue.cleanup()

    def _queue(self, todo: Sequence[Todo], slots: int) -> Queue:
        if self._shows_tasks:
            return ByTask(todo, tasks=len(self._tasks), slots=slots, key=self._order_key)
        return Shuffled(todo, self._order_key)


def order_key(plan: Plan) -> bytes:
    """The key that orders a plan's episodes; empty: the plan's own order."""
    return secret_order(plan) if shows_tasks(plan) else bytes.fromhex(plan.order_key)

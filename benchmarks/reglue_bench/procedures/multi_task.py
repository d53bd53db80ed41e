"""Multi-task evaluation: a frozen agent plays every (task, variant) equally often.

Source: Meta-World's documentation, "Evaluation", Multi-Task Reinforcement Learning:
one episode for each training goal of each task; success is the flag at any step.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from glue_server import Order, Outcome
from reglue.errors import UsageError, setting
from reglue.messages.agent_messages import Phase
from reglue_bench.plan_settings import MultiTaskSettings, PlanSettings
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
    shows_tasks,
)

MOST_EPISODES = 10_000_000
"""The most episodes of a plan: each takes some bytes of memory before the first is played."""


EPISODE_LIMIT = 100_000
"""Steps: an environment without a time limit, and a policy that never ends, must not hang a run."""


class MultiTask(Procedure):
    """A unit is one episode. A free slot takes the next one at once.

    Episode n of a task plays variant n mod V, repeat n div V. `shows_tasks` says that the
    agent sees which task it plays, so that the order of play may follow tasks. Episodes, of
    each task or of all, follow `order_key`.
    """

    about = "a frozen agent plays every goal of every task"
    compares_goals: ClassVar[bool] = True
    settings: ClassVar[type[BaseModel]] = MultiTaskSettings

    @classmethod
    def parameters(
        cls, settings: PlanSettings, variants: Mapping[str, int]
    ) -> dict[str, Parameter]:
        """The parameters; by default one episode a goal, as in Meta-World. Raises UsageError."""
        episodes = or_default(settings.num_episodes, max(variants.values()))
        if len(variants) * episodes > MOST_EPISODES:
            raise UsageError(
                got=f"a plan of {len(variants)} tasks × {episodes} episodes",
                wanted=(f"at most {MOST_EPISODES} in all: give fewer by {setting('num_episodes')}"),
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
            limit = self._episode_limit
            return replace(ordered, max_steps=limit) if limit else ordered

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


class Queue(Protocol):
    """The units that are left to play."""

    def take(self, slot: int) -> Todo | None:
        """The slot's next episode; None if nothing is left."""

    def tell(self, outcome: Outcome) -> None:
        """Receives the outcome of an episode."""


class Shuffled:
    """A shuffled order, for agents that must not know their task: it reveals nothing."""

    def __init__(self, todo: Sequence[Todo], key: bytes) -> None:
        places = shuffled((each.unit for each in todo), key)
        self._left = _Line(todo, places.astype(np.uint32))

    def take(self, slot: int) -> Todo | None:
        """The next unit, whatever the slot."""
        return self._left.take() if len(self._left) else None

    def tell(self, outcome: Outcome) -> None:
        """Outcomes do not change this order."""


class ByTask:
    """For agents that know their task: a slot plays its own tasks, then helps with others.

    Slot s of S has tasks s, s + S, … of T, or task s mod T if there are more slots. So workers
    need few simulators, and a partial run has episodes of each task. A slot
    that has played its own goes on with the task that has most steps left, as expected
    from its episodes so far. The episodes of a task follow `key`, or the plan without one.
    """

    def __init__(self, todo: Sequence[Todo], *, tasks: int, slots: int, key: bytes = b"") -> None:
        self._tasks = tasks
        self._count = len(todo)  # that are left
        of = np.fromiter((each.unit % tasks for each in todo), np.uint32, len(todo))
        order = shuffled((each.unit for each in todo), key) if key else np.arange(len(todo))
        self._left = [
            _Line(todo, order[of[order] == task].astype(np.uint32)) for task in range(tasks)
        ]
        self._tasks_of_slot = [
            deque(range(slot, tasks, slots) if slots < tasks else [slot % tasks])
            for slot in range(slots)
        ]
        self._steps = [0] * tasks  # of the episodes so far
        self._episodes = [0] * tasks

    def take(self, slot: int) -> Todo | None:
        """A unit of the slot's own tasks, in turn; else of the task with most steps left."""
        if not self._count:
            return None
        self._count -= 1
        tasks = self._tasks_of_slot[slot]
        for _ in range(len(tasks)):
            tasks.rotate(-1)
            if len(self._left[tasks[-1]]):
                return self._left[tasks[-1]].take()
        left = [task for task in range(self._tasks) if len(self._left[task])]
        return self._left[max(left, key=self._expected)].take()

    def tell(self, outcome: Outcome) -> None:
        """Learns how long the episodes of a task are."""
        task = outcome.order.unit % self._tasks
        self._steps[task] += outcome.steps
        self._episodes[task] += 1

    def _expected(self, task: int) -> float:
        """The steps that a task has left; one for each episode if none was played yet."""
        return len(self._left[task]) * self._steps[task] / max(1, self._episodes[task]) + len(
            self._left[task]
        )


class _Line:
    """Some of `todo`, by their places in it."""

    def __init__(self, todo: Sequence[Todo], places: npt.NDArray[np.uint32]) -> None:
        self._todo = todo
        self._places = places
        self._taken = 0

    def __len__(self) -> int:
        return len(self._places) - self._taken

    def take(self) -> Todo:
        """The first one. It must not be empty."""
        self._taken += 1
        return self._todo[int(self._places[self._taken - 1])]

"""Multi-task evaluation: a frozen agent, every (task, variant) its quota.

Source: Meta-World's documentation, "Evaluation", Multi-Task Reinforcement Learning:
one episode for each training goal of each task; success is the flag at any step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from glue_server import Order
from reglue.calls import Phase
from reglue_bench.plan import PlanCell
from reglue_bench.procedures.procedure import Agents, MakeOrder, Record, Todo, Watch


class MultiTask:
    """A unit is one episode. A free slot takes the next one at once.

    Episode n of a task plays variant n mod V, repeat n div V. Tasks take turns, so
    that a part of a run says something of each.
    """

    name = "multi-task"
    keeps_rewards = False  # its actions give them again

    def __init__(self, variants: Mapping[str, int], *, num_episodes: int) -> None:
        self._tasks = tuple(variants)
        self._variants = variants
        self._num_episodes = num_episodes

    @property
    def units(self) -> int:
        """Tasks × episodes."""
        return len(self._tasks) * self._num_episodes

    @property
    def goals(self) -> int:
        """All variants of all tasks."""
        return sum(self._variants.values())

    def cells(self, unit: int) -> Sequence[PlanCell]:
        """The only cell of a unit."""
        episode, place = divmod(unit, len(self._tasks))
        task = self._tasks[place]
        repeat, variant = divmod(episode, self._variants[task])
        return (PlanCell(0, task, variant, repeat, "evaluate"),)

    def play(
        self,
        agents: Agents,
        todo: Iterable[Todo],
        *,
        order: MakeOrder,
        record: Record,
        watch: Watch,
    ) -> None:
        """Play each unit's episode, frozen."""
        queue = deque(todo)
        playing: dict[int, Todo] = {}

        def next_order(_slot: int) -> Order | None:
            if not queue:
                return None
            taken = queue.popleft()
            playing[taken.unit] = taken
            return order(taken.unit, self.cells(taken.unit)[0])

        glue = agents.fresh()
        glue.init()
        glue.freeze()
        for outcome in glue.play(next_order, Phase.EVALUATE):
            played = playing.pop(outcome.order.unit)
            if outcome.status == "environment_error" and played.may_be_tried_again:
                queue.appendleft(played.again())
            else:
                watch(outcome, "evaluate")
                record(played, [outcome])
        glue.cleanup()

"""An agent and an environment, joined in S slots since RL_init."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from glue_server.agent_half import AgentHalf
from glue_server.cells import Cells
from glue_server.given import check_slots
from glue_server.played import Answer
from glue_server.pool import PortPool
from glue_server.turns import Row
from reglue.calls import Phase
from reglue.environment_calls import EnvironmentCall, Ready
from reglue.errors import AgentFault, EnvironmentFault, OutOfOrder
from reglue.experiment_calls import Counts
from reglue.spec import Arrays, TaskSpec
from reglue.worlds import Cell, Step

_Kind = TypeVar("_Kind")


class Joined:
    """The two halves of each slot, which come and go by themselves, and its counts.

    `live` are the slots whose environment is in mid-episode, `agent.upcoming` those in
    which the agent acts.
    """

    def __init__(
        self,
        agent: AgentHalf,
        pool: PortPool,
        cells: Cells,
        counts: list[Counts],
        *,
        goes_on: Callable[[], bool],
    ) -> None:
        self.goes_on = goes_on
        self.agent = agent
        self.cells = cells
        self.counts = counts
        self.live: set[int] = set()
        self.phase = Phase.TRAIN
        self._pool = pool

    @property
    def spec(self) -> TaskSpec:
        """What is played."""
        return self._pool.spec

    @property
    def ready(self) -> Ready:
        """What the environment can do."""
        return self._pool.ready

    # What is legal.

    def all_if_none(self, slots: Sequence[int]) -> Sequence[int]:
        """`slots`, or all where none is named. Raises OutOfDomain."""
        check_slots(slots, self.spec.slots)
        return slots or range(self.spec.slots)

    def check_live(self, routine: str, slots: Iterable[int]) -> None:
        """Raise OutOfOrder for a slot whose environment is not in mid-episode."""
        for slot in slots:
            if slot not in self.live:
                raise OutOfOrder(
                    got=f"{routine} in slot {slot}, which has no episode", wanted="RL_start first"
                )

    def check_acting(self, routine: str, slots: Iterable[int]) -> None:
        """Raise OutOfOrder for a slot in which the agent does not act."""
        for slot in slots:
            if slot not in self.agent.upcoming:
                raise OutOfOrder(
                    got=f"{routine} in slot {slot}, in which the agent does not act",
                    wanted="RL_start or RL_agent_start first",
                )

    # The environment's half. All raise EnvironmentFault when it is lost: all is void then.

    def begin(self, slots: Iterable[int]) -> dict[int, Answer]:
        """env_start; answers in the order of slots."""
        answers = self._play({slot: self.cells.next(self.phase) for slot in sorted(slots)}, {})
        for slot in first_of(answers):
            self.live.add(slot)
            self.counts[slot] = replace(self.counts[slot], sum_of_rewards=0.0, steps=1)
        return answers

    def move(self, actions: Mapping[int, bytes]) -> dict[int, Answer]:
        """env_step; answers in the order of slots."""
        answers = self._play({}, actions)
        for slot, step in steps_of(answers).items():
            before, over = self.counts[slot], step.terminated or step.truncated
            self.counts[slot] = Counts(
                before.sum_of_rewards + step.reward,
                before.steps + (not over),
                before.episodes + over,
            )
            if not over:
                self.live.add(slot)
        return answers

    def _play(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> dict[int, Answer]:
        """One exchange. Its slots are live again when the answer says so."""
        self.live -= starts.keys() | steps.keys()
        try:
            self._pool.send(starts, steps)
            answers = self._pool.receive()
        except EnvironmentFault:
            self.void_all()
            raise
        return dict(sorted(answers.items()))

    def ask(self, call: EnvironmentCall, kind: type[_Kind]) -> _Kind:
        """Another routine of the environment. Raises RoutineRefused, with nothing changed."""
        try:
            return self._pool.ask(call, kind)
        except EnvironmentFault:
            self.void_all()
            raise

    def void_all(self) -> None:
        """The environment is lost: every episode is over. Raises AgentFault."""
        self.live.clear()
        self.tell(ends=self.agent.void(sorted(self.agent.upcoming)))

    # The agent's half.

    def tell(
        self, *, ends: Sequence[Row] = (), steps: Sequence[Row] = (), starts: Sequence[Row] = ()
    ) -> AgentFault | None:
        """agent_end, agent_step and agent_start, in one turn; see AgentHalf.turn."""
        try:
            return self.agent.turn(self.phase, ends=ends, steps=steps, starts=starts)
        except AgentFault:
            self.agent_lost()
            raise

    def agent_lost(self) -> None:
        """Every episode is over."""
        self.live.clear()
        self.agent.upcoming.clear()


def failures(answers: Mapping[int, Answer]) -> dict[int, EnvironmentFault]:
    """The slots whose environment failed."""
    return {
        slot: answer for slot, answer in answers.items() if isinstance(answer, EnvironmentFault)
    }


def steps_of(answers: Mapping[int, Answer]) -> dict[int, Step]:
    """The slots that took a step."""
    return {slot: answer for slot, answer in answers.items() if isinstance(answer, Step)}


def first_of(answers: Mapping[int, Answer]) -> dict[int, Arrays]:
    """The slots that started, and their first observations."""
    return {slot: answer for slot, answer in answers.items() if isinstance(answer, Mapping)}


def raise_faults(answers: Mapping[int, Answer], agents: AgentFault | None = None) -> None:
    """Raise what went wrong, if anything did: the agent's fault before the environment's."""
    failed = failures(answers)
    if not failed:
        if agents is not None:
            raise agents
        return
    broken = EnvironmentFault("\n".join(f"slot {slot}: {what}" for slot, what in failed.items()))
    if agents is not None:
        raise agents from broken
    raise broken

"""An agent and an environment, joined in S slots since RL_init."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from glue_server.agent.slots import SlotAgent
from glue_server.agent.turns import Rows
from glue_server.environment.calls import EnvironmentCalls
from glue_server.routines.arguments import check_slots
from glue_server.routines.counts import SlotCounts
from glue_server.routines.rows import Asked, Places
from glue_server.routines.seeds import Cells
from reglue.errors import AgentFault, EnvironmentFault, OutOfOrder
from reglue.messages.agent import Phase
from reglue.messages.environment import EnvironmentCall, Play, Played, Slots
from reglue.spec import Arrays, TaskSpec

_Kind = TypeVar("_Kind")


class JoinedSlots:
    """The two halves of each slot, which come and go by themselves, and its counts.

    `live` are the slots whose environment is in mid-episode, `agent.acts` those in
    which the agent acts; (S,) each. Peers are asked about slots in ascending order.
    """

    def __init__(
        self,
        agent: SlotAgent,
        environment: EnvironmentCalls,
        cells: Cells,
        counts: SlotCounts,
        *,
        goes_on: Callable[[], bool],
    ) -> None:
        self.goes_on = goes_on
        self.agent = agent
        self.cells = cells
        self.counts = counts
        self.ready = environment.ready
        self.spec: TaskSpec = environment.ready.spec
        self.live = np.zeros(self.spec.slots, np.bool_)
        self.everyone = Asked.of(range(self.spec.slots))
        self.phase = Phase.TRAIN
        self._environment = environment

    # What is legal.

    def all_if_none(self, slots: Sequence[int]) -> Sequence[int]:
        """`slots`, or all where none is named. Raises OutOfDomain."""
        check_slots(slots, self.spec.slots)
        return slots or range(self.spec.slots)

    def stepping(self) -> Asked:
        """The slots in mid-episode in which the agent acts."""
        ready = self.live & self.agent.acts
        return Asked.of(ready.nonzero()[0].tolist()) if 0 in ready.tobytes() else self.everyone

    def check_live(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder for a slot whose environment is not in mid-episode."""
        for slot in _not_in(self.live, places):
            raise OutOfOrder(
                got=f"{routine} in slot {slot}, which has no episode", wanted="RL_start first"
            )

    def check_acting(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder for a slot in which the agent does not act."""
        for slot in _not_in(self.agent.acts, places):
            raise OutOfOrder(
                got=f"{routine} in slot {slot}, in which the agent does not act",
                wanted="RL_start or RL_agent_start first",
            )

    # The environment's half. All raise EnvironmentFault when it is lost: all is void then.

    def begin(self, asked: Asked) -> Played:
        """env_start."""
        cells = {slot: self.cells.next(self.phase) for slot in asked.places.tolist()}
        played = self._play(asked, Play(_NO_SLOTS, {}, cells))
        for slot in cells.keys() - played.faults.keys():
            self.live[slot] = True
            self.counts.begin(slot)
        return played

    def move(self, asked: Asked, actions: Arrays) -> Played:
        """env_step."""
        played = self._play(asked, Play(asked.numbers, actions, {}))
        self.cells.count(len(asked.places) - len(played.faults))
        for slot, reward, terminated, truncated in zip(
            asked.places.tolist(),
            played.rewards.tolist(),
            played.terminated.tolist(),
            played.truncated.tolist(),
            strict=True,
        ):
            if slot not in played.faults:
                ends = terminated or truncated
                self.live[slot] = not ends
                self.counts.step(slot, reward, over=ends)
        return played

    def _play(self, asked: Asked, play: Play) -> Played:
        """One exchange. Its slots are live again when the answer says so."""
        self.live[asked.places] = False
        try:
            return self._environment.play(play)
        except EnvironmentFault:
            self.void_all()
            raise

    def ask(self, call: EnvironmentCall, kind: type[_Kind]) -> _Kind:
        """Another routine of the environment. Raises RoutineRefused, with nothing changed."""
        try:
            return self._environment.ask(call, kind)
        except EnvironmentFault:
            self.void_all()
            raise

    def void_all(self) -> None:
        """The environment is lost: every episode is over. Raises AgentFault."""
        self.live[:] = False
        self.tell(ends=self.agent.void(self.agent.acts.nonzero()[0]))
        self.hear()

    # The agent's half.

    def starts(self, places: Places, observations: Arrays) -> Rows:
        """What the agent is told of episodes that begin, with seeds of its own."""
        seeds = [self.cells.start_seed(slot) for slot in places.tolist()]
        slots = places.astype(np.uint32)
        return Rows(slots, np.array(seeds, np.uint64), observations, np.zeros(len(slots)))

    def tell(
        self, *, ends: Rows | None = None, steps: Rows | None = None, starts: Rows | None = None
    ) -> None:
        """agent_end, agent_step and agent_start, in one turn; `hear` comes next.

        What is done in between is done while the agent thinks.
        """
        try:
            self.agent.tell(self.phase, ends=ends, steps=steps, starts=starts)
        except AgentFault:
            self.agent_lost()
            raise

    def hear(self) -> AgentFault | None:
        """The agent's answer; see SlotAgent.hear."""
        try:
            return self.agent.hear()
        except AgentFault:
            self.agent_lost()
            raise

    def agent_lost(self) -> None:
        """Every episode is over."""
        self.live[:] = False
        self.agent.acts[:] = False


def failed(slots: Places | Slots, played: Played) -> npt.NDArray[np.bool_] | None:
    """The rows of `slots` whose environment failed, (rows,); None where none did."""
    return np.isin(slots, list(played.faults)) if played.faults else None


def raise_faults(faults: Mapping[int, str], agents: AgentFault | None = None) -> None:
    """Raise what went wrong, if anything did: the agent's fault before the environment's."""
    if not faults:
        if agents is not None:
            raise agents
        return
    broken = EnvironmentFault("\n".join(f"slot {slot}: {faults[slot]}" for slot in sorted(faults)))
    if agents is not None:
        raise agents from broken
    raise broken


def _not_in(mask: npt.NDArray[np.bool_], places: Places) -> list[int]:
    found = mask[places]
    return [] if np.count_nonzero(found) == len(places) else places[~found].tolist()


_NO_SLOTS: Slots = np.zeros(0, np.uint32)

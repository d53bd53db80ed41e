"""The loop over turns: step, end, start, ask the agent, again.

Slots are played in groups. One group is lockstep: environments wait while the agent thinks.
With several, environments step some groups while the agent thinks about another. Turns
rotate in a fixed order, so that speed changes no result. Once few slots are left, the groups join.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from glue_server.agent.actions import Answer, Checked
from glue_server.agent.agent_calls import SlotAgent
from glue_server.agent.turn_rows import Rows, among, ends_and_steps, no_rows
from glue_server.environment.environment_calls import EnvironmentCalls
from glue_server.environment.replaying import NO_SLOTS
from glue_server.episodes.recording import (
    CRASHED,
    CUT_OFF,
    LOST,
    EpisodeRecording,
    Order,
    Outcome,
)
from glue_server.processes.readable import readable
from reglue.errors import AgentFault, EnvironmentFault
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Flags, Play, Played, Slots
from reglue.spec import Array

NextOrder: TypeAlias = Callable[[int], Order | None]
"""The next order of a free slot; None leaves it idle until an episode ends somewhere."""

_MOST_GROUPS = 3
_LOOK_S = 0.2  # how often to check for late environments
_FEW_SLOTS = 25  # of a group
_FEW_LEFT = 8  # in play: turns of a part of them cost more than what they let happen meanwhile


@dataclass(slots=True)
class Spent:
    """Seconds that the glue has waited for either side so far."""

    agent_s: float = 0.0
    environment_s: float = 0.0


_Turn: TypeAlias = tuple[Rows, Rows, Rows]  # ends, steps, starts


class _Group:
    """Slots that share their turns."""

    def __init__(self, slots: Sequence[int]) -> None:
        self.slots = slots
        self.filled = -1  # the episodes that had ended when its slots were given orders last
        self.waits = False  # for the agent's answer
        self.last: _Turn | None = None
        self.held: list[_Turn] = []  # to be sent with its next turn
        self.stepping: Play | None = None  # with the environment
        self.starting: Play | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an answer is still to come, or rows must be sent again."""
        return bool(self.waits or self.held or self.stepping or self.starting)


class EpisodeLoop:
    """Episodes of one phase, in all slots.

    Its generators yield outcomes as episodes end.
    """

    def __init__(
        self,
        agent: SlotAgent,
        environment: EnvironmentCalls,
        phase: Phase,
        next_order: NextOrder,
        *,
        spent: Spent,
        clock: Callable[[], float] = time.perf_counter,
        recording: EpisodeRecording | None = None,
    ) -> None:
        """`recording` is one of this environment's spec; None: one that keeps everything."""
        self._agent = agent
        self._environment = environment
        self._phase = phase
        self._next_order = next_order
        self._spent = spent
        self._clock = clock
        self._recording = recording or EpisodeRecording(environment.spec)
        environment.recall_from(self._recording)
        self._none = no_rows(environment.spec)
        self._groups = [_Group(slots) for slots in self._slots_of_groups()]

    def run(self) -> Iterator[Outcome]:
        """Turns until nothing is in play and no slot is given an order."""
        return (outcome for outcome in self.turns() if outcome is not None)

    def turns(self) -> Iterator[Outcome | None]:
        """Like `run`, but in lockstep also yields None after each request.

        So a caller that computes the answer can resume the loop.
        """
        try:
            while True:
                for place, group in enumerate(self._groups):
                    if len(self._groups) == 1:
                        yield from self._in_lockstep(group)
                        if group.waits:
                            yield None
                    else:
                        yield from self._in_turn(self._groups[place - 1], group)
                if self._has_few_left():
                    yield from self._join_groups()
                if not any(map(self._goes_on, self._groups)):
                    return
        except AgentFault as fault:
            for slot in sorted(self._recording.orders):
                yield self._recording.outcome(slot, fault.status, str(fault))
            with suppress(EnvironmentFault):  # the agent's came first
                self._drain()
            raise
        except EnvironmentFault as fault:
            yield from self._lose(str(fault))
            raise
        except KeyboardInterrupt:  # the user does not wait until it is back
            if self._environment.is_away:
                yield from self._lose("the run was interrupted while its environment was away")
            raise

    def _goes_on(self, group: _Group) -> bool:
        """Whether an answer is to come, or an episode has ended since its slots were filled."""
        return group.is_busy or group.filled != self._recording.ended

    def _lose(self, why: str) -> Iterator[Outcome]:
        """End the episodes that are on, of which the agent has seen something."""
        unseen = {slot for each in self._groups if each.starting for slot in each.starting.starts}
        for slot in sorted(self._recording.orders.keys() - unseen):
            yield self._recording.outcome(slot, LOST, why)

    def _slots_of_groups(self) -> list[range]:
        """Several if the agent answers each slot by itself, at any time, and the environment steps
        no slot that it is not told to.

        Not in training: an agent that learns from every turn would learn from other turns. While
        adapting, it learns when all groups are through.
        With more than two, environments have work waiting when they are through with a
        group; groups of few slots make many turns.
        """
        slots = self._environment.spec.slots
        calls = self._agent.calls
        takes_parts = self._phase is not Phase.TRAIN and calls.hello.partial_turns
        if calls.turn_every_s or not takes_parts or self._environment.ready.whole_turns:
            return [range(slots)]
        count = min(slots, _MOST_GROUPS, max(2, slots // _FEW_SLOTS))
        ends = [slots * place // count for place in range(count + 1)]
        return [range(*pair) for pair in pairwise(ends)]

    def _in_lockstep(self, group: _Group) -> Iterator[Outcome]:
        """A whole turn: a slot whose episode ends begins the next one in it."""
        yield from self._act(group)
        ends, steps = yield from self._receive_steps(group)
        self._fill(group)
        starts = yield from self._receive_starts(group)
        self._ask(group, ends, steps, starts)

    def _in_turn(self, asked: _Group, group: _Group) -> Iterator[Outcome]:
        """Play what the agent chose for `asked`, and ask it about `group`: in either order.

        The order of answers changes nothing: outcomes are yielded, orders taken
        and Plays sent in one fixed order. An episode begins in the turn after its order was
        taken, as its start waits behind the steps of other groups.
        """
        environment_first = self._environment_is_first(asked, group)
        if environment_first:
            yield from self._receive_and_ask(group)
        try:
            late = list(self._act(asked))
        except AgentFault:
            # Episodes of `group` that its last Play has ended count; only the others are the
            # agent's loss.
            if not environment_first:
                with suppress(EnvironmentFault):  # the agent's came first
                    yield from self._receive_rows(group)
            raise
        if not environment_first:
            yield from self._receive_and_ask(group)
        yield from late
        self._fill(group)

    def _has_few_left(self) -> bool:
        """Whether one turn is to carry all slots in play from now on."""
        if len(self._groups) == 1 or any(group.starting for group in self._groups):
            return False
        most = min(_FEW_LEFT, self._environment.spec.slots // 2)
        return 0 < len(self._recording.orders) <= most

    def _join_groups(self) -> Iterator[Outcome]:
        """Wait for the calls under way in all groups, and ask the agent about all rows at once."""
        yield from self._act(self._groups[-1])
        joined = _Group(range(self._environment.spec.slots))
        for group in self._groups:
            joined.held += [*group.held, (yield from self._receive_rows(group))]
        self._groups = [joined]
        self._ask(joined, self._none, self._none, self._none)

    def _receive_and_ask(self, group: _Group) -> Iterator[Outcome]:
        ends, steps, starts = yield from self._receive_rows(group)
        self._ask(group, ends, steps, starts)

    def _receive_rows(self, group: _Group) -> Generator[Outcome, None, _Turn]:
        starts = yield from self._receive_starts(group)
        ends, steps = yield from self._receive_steps(group)
        return ends, steps, starts

    def _environment_is_first(self, asked: _Group, group: _Group) -> bool:
        """Wait for either; whether the environments have answered and the agent has not."""
        agents = self._agent.calls.filenos()
        if not (agents and asked.waits and group.stepping):
            return False
        began = self._clock()
        # A descriptor is readable once a part of an answer has come, and no more once all of it was
        # read. So only `is_ready` says that the answer is whole, and is asked before each poll.
        while not self._environment.is_ready():  # which it is, too, when its time is up
            if not {*agents}.isdisjoint(readable((*agents, *self._environment.filenos()), _LOOK_S)):
                self._spent.agent_s += self._clock() - began
                return False
        self._spent.environment_s += self._clock() - began
        return True

    # The agent.

    def _ask(self, group: _Group, ends: Rows, steps: Rows, starts: Rows) -> None:
        """Send the group's turn, if there is anything to say."""
        for held in group.held:
            ends, steps, starts = map(Rows.merged, held, (ends, steps, starts))
        group.held = []
        group.last = ends, steps, starts
        if ends or steps or starts:
            self._agent.calls.wait_for_turn()
        began = self._clock()
        group.waits = self._agent.send(self._phase, ends=ends, steps=steps, starts=starts)
        self._spent.agent_s += self._clock() - began

    def _act(self, group: _Group) -> Iterator[Outcome]:
        """Let the environments play what the agent chose."""
        if not group.waits:
            return
        group.waits = False
        answer = self._answer()
        if answer.held and group.last is not None:
            _, steps, starts = group.last
            group.held = [(self._none, steps.only(answer.held), starts.only(answer.held))]
        plays = yield from self._end_episodes(answer)
        if answer.checked is None:
            return
        if plays is None:
            self._play(group, answer.slots, answer.checked)
        else:
            arrays = {name: rows[plays] for name, rows in answer.checked.arrays.items()}
            checked = replace(answer.checked, arrays=arrays, clipped=answer.checked.clipped[plays])
            self._play(group, answer.slots[plays], checked)

    def _answer(self) -> Answer:
        began = self._clock()
        try:
            return self._agent.receive(may_hold=not self._environment.ready.whole_turns)
        finally:
            self._spent.agent_s += self._clock() - began

    def _end_episodes(self, answer: Answer) -> Generator[Outcome, None, Array | None]:
        """End the episodes that do not go on; a mask of those that do, None for all."""
        slots = answer.slots
        cut_off = self._recording.cut_off(slots)
        if not (answer.faults or answer.held or cut_off is not None):
            return None
        plays = np.ones(len(slots), np.bool_)
        for place, slot in enumerate(slots.tolist()):
            if (fault := answer.faults.get(slot)) is not None:
                yield self._recording.outcome(slot, fault.status, str(fault))
            elif cut_off is not None and cut_off[place] and slot not in answer.held:
                # No end for the agent, which has the last reward: as in RL-Glue's
                # RL_episode, the action it chose is not played, and a start or cleanup follows.
                yield self._recording.outcome(slot)
            elif slot not in answer.held:
                continue
            plays[place] = False
        return plays

    # The environments.

    def _play(self, group: _Group, slots: Slots, checked: Checked) -> None:
        if not len(slots):
            return
        self._recording.act(slots, checked)
        group.stepping = Play(slots, checked.arrays, {})
        self._send(group.stepping)

    def _receive_steps(self, group: _Group) -> Generator[Outcome, None, tuple[Rows, Rows]]:
        """Wait for the results of the actions: ends and steps."""
        if group.stepping is None:
            return self._none, self._none
        slots, played = group.stepping.slots, self._receive()
        group.stepping = None
        void = among(slots, played.faults) if played.faults else None
        played, cut_off = self._record(slots, played, None if void is None else ~void)
        ends, steps = ends_and_steps(slots, self._recording.flags(slots), played, void)
        if ends is None:
            return self._none, steps
        for slot in ends.slots.tolist():
            fault = played.faults.get(slot)
            if fault is None:
                yield self._recording.outcome(slot, detail=CUT_OFF if slot in cut_off else "")
            else:
                yield self._recording.outcome(slot, _status_of(slot, played), fault)
        return ends, steps

    def _record(self, slots: Slots, played: Played, whole: Flags | None) -> tuple[Played, set[int]]:
        """Record the results of the actions: of all rows, or of those that are `whole`.

        Returns `played` with the truncations of orders, and the slots that they truncate.
        """
        landed, rewards, success = slots, played.rewards, played.success
        if whole is not None:
            landed, rewards, success = slots[whole], rewards[whole], success[whole]
        self._recording.land(landed, rewards, success)
        cut_off: set[int] = set()
        if (cut := self._recording.truncated(slots)) is not None:
            cut &= ~(played.terminated | played.truncated)
            cut_off = set(slots[cut].tolist())
            played = replace(played, truncated=played.truncated | cut)
        self._recording.saw_step(slots, played, slice(None) if whole is None else whole)
        return played, cut_off

    def _fill(self, group: _Group) -> None:
        """Let episodes begin in free slots."""
        if group.filled == self._recording.ended:
            return
        group.filled = self._recording.ended
        cells = {}
        for slot in sorted(slot for slot in self._recording.free if slot in group.slots):
            if order := self._next_order(slot):
                self._recording.begin(slot, order)
                cells[slot] = order.cell
        if cells:
            group.starting = Play(NO_SLOTS, {}, cells)
            self._send(group.starting)

    def _receive_starts(self, group: _Group) -> Generator[Outcome, None, Rows]:
        """Wait for the episodes that begin; those that could not are over."""
        if group.starting is None:
            return self._none
        slots, played = list(group.starting.starts), self._receive()
        group.starting = None
        seeds = [self._recording.orders[slot].start_seed for slot in slots]
        rows = Rows(
            np.array(slots, np.uint32),
            np.array(seeds, np.uint64),
            played.observations,
            np.zeros(len(slots)),
        )
        for slot, fault in played.faults.items():
            yield self._recording.outcome(slot, EnvironmentFault.status, fault)
        begun = rows.where(~among(rows.slots, played.faults)) if played.faults else rows
        self._recording.saw_start(begun.slots, begun.observations)
        return begun

    def _send(self, play: Play) -> None:
        began = self._clock()
        self._environment.send(play)
        self._spent.environment_s += self._clock() - began

    def _drain(self) -> None:
        """Take what the environment still owes: another agent may play there."""
        for group in self._groups:
            for play in (group.starting, group.stepping):
                if play is not None:
                    self._receive()

    def _receive(self) -> Played:
        began = self._clock()
        played = self._environment.receive()
        self._spent.environment_s += self._clock() - began
        if crashed_s := self._environment.take_crashed_s():
            self._agent.calls.charge(crashed_s)
        return played


def _status_of(slot: int, played: Played) -> str:
    """The status of an episode in which something failed."""
    if slot in played.crashed:
        return CRASHED
    return AgentFault.status if slot in played.illegal else EnvironmentFault.status

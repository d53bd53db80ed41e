"""An agent and an environment, joined in S slots since RL_init."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from glue_server.agent.actions import Checked
from glue_server.agent.agent_calls import SlotAgent
from glue_server.agent.turn_rows import Rows
from glue_server.environment.environment_calls import EnvironmentCalls
from glue_server.environment.replaying import NO_SLOTS
from glue_server.routines.arguments import check_slots
from glue_server.routines.seeds import Cells
from glue_server.routines.slot_counts import SlotCounts
from glue_server.routines.slot_selection import Places, Selection
from glue_server.routines.snapshot_keys import SnapshotKeys
from reglue.action_masks import ACTION_MASK, Allowed, action_mask
from reglue.errors import AgentFault, EnvironmentFault, OutOfDomain, OutOfOrder
from reglue.messages.agent_messages import ActionFlag, AgentHello, Call, EndKind, Phase, Reply
from reglue.messages.environment_messages import EnvironmentCall, Play, Played, SlotIndex, Slots
from reglue.messages.experiment_messages import Goal, Stepped
from reglue.spec import Array, Arrays, TaskSpec

_Kind = TypeVar("_Kind")


class JoinedSlots:
    """An environment and an agent in each of S slots, and the counts of each.

    `live` are the slots whose environment is in mid-episode, `acts` those in which the agent
    acts, from a start to an end; (S,) each. `is_cut_off` are slots of both kinds whose episode a
    limit or RL_agent_end has cut off. Calls to peers name slots in ascending order.
    """

    def __init__(
        self,
        agent: SlotAgent,
        environment: EnvironmentCalls,
        cells: Cells,
        counts: SlotCounts,
        keys: SnapshotKeys,
        *,
        goes_on: Callable[[], bool],
        owns: bool = True,
    ) -> None:
        """`owns` says whether the program gets arrays of its own."""
        self.goes_on = goes_on
        self.checks = agent.checks
        self.cells = cells
        self.counts = counts
        self.keys = keys
        self.ready = environment.ready
        self.spec: TaskSpec = environment.ready.spec
        self.live = np.zeros(self.spec.slots, np.bool_)
        self.everyone = Selection.of(range(self.spec.slots))
        self.phase = Phase.TRAIN
        self.episodes_to_learn_from = 0  # that the agent has begun since the last RL_adapt
        self.has_adapted = False  # since RL_adapt_begin
        self.acts = np.zeros(self.spec.slots, np.bool_)
        self.is_cut_off = np.zeros(self.spec.slots, np.bool_)
        self._owns = owns
        self._agent = agent
        self._environment = environment
        # What the agent plays next, a row a slot.
        self._actions: Arrays = {
            each.name: each.empty(self.spec.slots) for each in self.spec.actions
        }
        self._flags = np.zeros(self.spec.slots, np.uint8)  # ActionFlag bits of those actions
        self._awaits_answer = False  # whether the agent owes an answer
        self._mask = action_mask(self.spec)
        columns = sum(self._mask.choices) if self._mask else 0
        self._allowed = np.ones((self.spec.slots, columns), np.bool_)  # by the newest masks

    # What is legal.

    def all_if_none(self, slots: Sequence[int]) -> Sequence[int]:
        """`slots`, or all if none is named. Raises OutOfDomain."""
        check_slots(slots, self.spec.slots)
        return slots or range(self.spec.slots)

    def stepping(self) -> Selection:
        """The slots in mid-episode in which the agent acts."""
        ready = self.live & self.acts
        return Selection.of(ready.nonzero()[0].tolist()) if 0 in ready.tobytes() else self.everyone

    def check_live(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder for a slot whose environment is not in mid-episode."""
        for slot in _not_in(self.live, places):
            raise OutOfOrder(
                got=f"{routine} in slot {slot}, which has no episode", wanted="RL_start first"
            )

    def choose_goals(self, routine: str, selection: Selection, goal: Goal | None) -> None:
        """Let the slots play `goal` from now on, if there is one.

        Raises OutOfOrder for a slot in mid-episode, and OutOfDomain, with nothing changed.
        """
        if goal is not None:
            self.check_between_episodes(f"{routine} of a goal", selection.places)
            self.cells.goals.choose(selection.slots, goal)

    def check_between_episodes(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder for a slot in which an episode is in play."""
        for slot in _not_in(~self.live | self.is_cut_off, places):
            raise OutOfOrder(
                got=f"{routine} in slot {slot}, which is in mid-episode",
                wanted="the episode's end first: RL_step or RL_episode, or RL_agent_end",
            )

    def check_acting(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder for a slot in which the agent does not act."""
        for slot in _not_in(self.acts, places):
            raise OutOfOrder(
                got=f"{routine} in slot {slot}, in which the agent does not act",
                wanted="RL_start or RL_agent_start first",
            )

    def check_choices(self, observations: Arrays) -> None:
        """Raise OutOfDomain for observations whose mask leaves the agent no action."""
        if self._mask is not None and self._mask.blocks(self._mask.allowed(observations)).any():
            raise OutOfDomain(got=f"{ACTION_MASK!r} without a legal action", wanted="one or more")

    def allowed(self, slots: Sequence[int]) -> Allowed | None:
        """Which actions the newest masks of `slots` allow, (rows, n); None: there are no masks."""
        return None if self._mask is None else self._allowed[list(slots)]

    def forget_mask(self, slot: int) -> None:
        """The slot's state was changed: which actions are legal is not known."""
        self._allowed[slot] = True

    # The environment's half. All raise EnvironmentFault when it is lost: all is void then.

    def begin(self, selection: Selection) -> Played:
        """env_start."""
        cells = {slot: self.cells.next(slot, self.phase) for slot in selection.places.tolist()}
        played = self._play(selection, Play(NO_SLOTS, {}, cells))
        for slot in cells.keys() - played.faults.keys():
            self.live[slot] = True
            self.counts.begin(slot)
        return played

    def move(self, selection: Selection, actions: Arrays) -> Played:
        """env_step."""
        played = self._play(selection, Play(selection.numbers, actions, {}))
        faults = played.faults
        self.cells.count(len(selection.slots) - len(faults))
        rewards, overs = played.rewards.tolist(), (played.terminated | played.truncated).tolist()
        successes, beyond = played.success.tolist(), {}
        for slot, reward, ends, success in zip(
            selection.places.tolist(), rewards, overs, successes, strict=True
        ):
            if slot in faults:
                continue
            if self.counts.step(slot, reward, over=ends, success=success):
                self.live[slot] = not ends
            else:
                beyond[slot] = f"its return: got {reward} more, wanted a finite sum of rewards"
        return replace(played, faults={**faults, **beyond}) if beyond else played

    def _play(self, selection: Selection, play: Play) -> Played:
        """One exchange. Its slots are live again when the answer says so."""
        self.live[selection.places] = False
        self.is_cut_off[selection.places] = False
        try:
            played = self._environment.play(play)
        except EnvironmentFault:
            self.void_all()
            raise
        if self._mask is not None:
            self._allowed[selection.places] = self._mask.allowed(played.observations)
        return played

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
        self.send_turn(ends=self.void(self.acts.nonzero()[0]))
        self.receive_answer()

    @property
    def agent_hello(self) -> AgentHello:
        """The agent's description of itself."""
        return self._agent.calls.hello

    def ask_agent(self, call: Call) -> Reply:
        """A routine of the agent other than a turn. Raises AgentFault: all is over then."""
        try:
            return self._agent.calls.call(call)
        except AgentFault:
            self.agent_lost()
            raise

    # The agent's half. `send_turn` and `receive_answer` raise AgentFault when it is lost: then
    # every episode is over.

    def check_whole(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder if a turn of `places` would leave out what this agent must see."""
        if len(places) == self.spec.slots or self._agent.calls.hello.partial_turns:
            return
        left_out = self.acts.copy()
        left_out[places] = False
        if np.count_nonzero(left_out):
            raise OutOfOrder(
                got=f"{routine} without slots {left_out.nonzero()[0].tolist()}, "
                "in which the agent acts",
                wanted="all of them in one call: this agent takes whole turns",
            )

    def check_whole_step(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder if an environment of `whole_turns` would step slots beside `places`."""
        if not self.ready.whole_turns or len(places) == self.spec.slots:
            return
        left_out = self.live & ~self.is_cut_off
        left_out[places] = False
        if np.count_nonzero(left_out):
            raise OutOfOrder(
                got=f"{routine} without slots {left_out.nonzero()[0].tolist()}, which are in "
                "mid-episode",
                wanted="all of them in one call: a step of this environment may move every slot "
                "(whole_turns)",
            )

    def actions(self, places: Places) -> Arrays:
        """The next actions: name -> (rows, *shape), zeros where the agent does not act."""
        acts = self.acts[places]
        if len(places) == self.spec.slots and 0 not in acts.tobytes():
            return self._actions
        actions = {name: rows[places] for name, rows in self._actions.items()}
        for rows in actions.values():
            rows[~acts] = 0
        return actions

    def flags(self, places: Places) -> Array:
        """ActionFlag bits of the pending actions, shape (rows,)."""
        return self._flags[places]

    def void(self, places: Places) -> Rows:
        """Ends of those that act, for an environment that failed."""
        acting = places[self.acts[places]]
        return Rows(
            acting.astype(np.uint32),
            np.full(len(acting), EndKind.VOID, np.uint8),
            {tensor.name: tensor.empty(len(acting)) for tensor in self.spec.observations},
            np.zeros(len(acting)),
        )

    def starts(self, places: Places, observations: Arrays) -> Rows:
        """The agent's message about episodes that begin, with the agent's own seeds."""
        seeds = [self.cells.start_seed(slot) for slot in places.tolist()]
        slots = places.astype(np.uint32)
        return Rows(slots, np.array(seeds, np.uint64), observations, np.zeros(len(slots)))

    def send_turn(
        self, *, ends: Rows | None = None, steps: Rows | None = None, starts: Rows | None = None
    ) -> None:
        """agent_end, agent_step and agent_start, in one turn; `receive_answer` comes next.

        What is done in between is done while the agent thinks.
        """
        for rows in (ends, steps, starts):
            if rows is not None:
                at = self._index(rows.slots)
                self.acts[at] = False
                self.is_cut_off[at] = False
        if starts is not None:
            self.episodes_to_learn_from += len(starts)
        try:
            self._awaits_answer = self._agent.send(
                self.phase, ends=ends, steps=steps, starts=starts
            )
        except AgentFault:
            self.agent_lost()
            raise

    def receive_answer(self) -> AgentFault | None:
        """Take the agent's answer, if one is owed.

        Returns the fault of slots whose action cannot be played: the agent does not act there
        any more.
        """
        if not self._awaits_answer:
            return None
        self._awaits_answer = False
        try:
            answer = self._agent.receive(may_hold=False)
        except AgentFault:
            self.agent_lost()
            raise
        if answer.checked is not None:
            self._take(answer.slots, answer.checked)
        if not answer.faults:
            return answer.refused
        slots = list(answer.faults)
        self.acts[slots] = False
        return answer.refused or AgentFault(f"the agent gave up its episode in slots {slots}")

    def _take(self, slots: Slots, checked: Checked) -> None:
        """Keep what those play next."""
        if len(slots) == self.spec.slots:
            self._actions = checked.arrays  # nobody else has them
            self._flags[:] = 0
            self.acts[:] = True
        else:
            # Copies: what came over a wire cannot be written to.
            self._actions = {name: rows.copy() for name, rows in self._actions.items()}
            at = self._index(slots)
            for name, rows in checked.arrays.items():
                self._actions[name][at] = rows
            self._flags[at] = 0
            self.acts[at] = True
        if 1 in checked.clipped.tobytes():
            self._flags[slots[checked.clipped]] = ActionFlag.CLIPPED

    def _index(self, slots: Slots) -> SlotIndex:
        """`slots` as an index of what has a row for each slot: NumPy takes other dtypes slowly."""
        return slice(None) if slots is self.everyone.numbers else slots.astype(np.intp)

    # Rows for the program, which may write to them if it is in this process.

    def shared(self, rows: Rows) -> Rows:
        """Rows for the agent; it cannot write to the arrays of a program in this process."""
        return rows.read_only() if self._owns else rows

    def seen(self, selection: Selection, observations: Arrays) -> Arrays:
        """Observations, in arrays that the glue does not write to."""
        seen = selection.all_named(observations)
        if not self._owns:
            return seen
        own = {}
        for name, rows in seen.items():  # what came over a wire is read-only
            own[name] = rows if rows.flags.writeable else rows.copy()
        return own

    def chosen(self, selection: Selection) -> Arrays:
        """The actions that the agent chose; the environment is given the same."""
        chosen = selection.all_named(self.actions(selection.places))
        if not self._owns:
            return chosen
        return {name: rows.copy() for name, rows in chosen.items()}

    def stepped(self, selection: Selection, played: Played, actions: Arrays) -> Stepped:
        """The result of each step, with the next action."""
        seen = self.seen(selection, played.observations)
        if selection.order is None and not self._owns:  # as they came
            ends = played.terminated, played.truncated
            return Stepped(selection.slots, played.rewards, seen, *ends, played.success, actions)
        rewards = selection.named(played.rewards)
        return Stepped(
            selection.slots,
            rewards if rewards.flags.writeable or not self._owns else rewards.copy(),
            seen,
            selection.named(played.terminated),
            selection.named(played.truncated),
            selection.named(played.success),
            actions,
        )

    def agent_lost(self) -> None:
        """Every episode is over."""
        self.live[:] = False
        self.acts[:] = False


def failed(slots: Places | Slots, played: Played) -> npt.NDArray[np.bool_] | None:
    """The rows of `slots` whose environment failed, (rows,); None if none did."""
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

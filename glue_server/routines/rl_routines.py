"""RL-Glue's routines after RL_init, over the slots that it joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glue_server.agent.capability import adapting_agent
from glue_server.agent.turn_rows import Rows, ends_and_steps
from glue_server.routines.arguments import (
    check_named,
    check_seed,
    check_slot,
    checked_actions,
    checked_observations,
    checked_rewards,
)
from glue_server.routines.slot_selection import Selection
from glue_server.routines.slots import JoinedSlots, failed, raise_faults
from glue_server.routines.snapshot_keys import SEED, STATE
from reglue.errors import AgentFault, NotSupported, OutOfDomain, OutOfOrder
from reglue.messages import experiment_messages as rl
from reglue.messages.agent_messages import Adapt, AdaptBegin, EndKind, Freeze, Phase, RoutineDone
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    Played,
    SetRandomSeed,
    SetState,
    Snapshot,
    StandardizeRandomness,
)
from reglue.spec import Array, Arrays


class RLRoutines(JoinedSlots):
    """RL_start, RL_step and RL_episode, the half steps that touch one side alone, and the rest.

    A fault of one slot ends its episode, and is raised after the others have been served: of a
    whole step on both sides, of a half step on the side that failed.
    """

    def rl_start(self, call: rl.RLStart) -> rl.Started:
        """RL_start in the slots that are named, or in all."""
        selection = self._select(call.slots)
        self.check_whole("RL_start", selection.places)
        self.choose_goals("RL_start", selection, call.goal)
        played = self._start(selection)
        self._receive_answer(selection, played)
        return rl.Started(
            selection.slots, self.seen(selection, played.observations), self.chosen(selection)
        )

    def rl_step(self, call: rl.RLStep) -> rl.Stepped:
        """RL_step in the slots that are named, or in all slots with a running episode."""
        selection = self._stepping(call.slots)
        self.check_whole("RL_step", selection.places)
        self.check_whole_step("RL_step", selection.places)
        played = self._step(selection)
        self._receive_answer(selection, played)
        return self.stepped(selection, played, self.chosen(selection))

    def rl_episode(self, call: rl.RLEpisode) -> rl.EpisodePlayed:
        """RL_episode of RL-Glue 3.0 in the slots that are named, or in all."""
        selection, max_steps = self._select(call.slots), call.max_steps
        if max_steps < 0:
            raise OutOfDomain(got=f"max_steps {max_steps}", wanted="0 (no limit) or more")
        if max_steps == 0 and self.spec.continuing:
            raise OutOfDomain(
                got="RL_episode without a step limit",
                wanted="max_steps of 1 or more: this task never ends",
            )
        self.check_whole("RL_episode", selection.places)
        self.check_whole_step("RL_episode", selection.places)
        self.choose_goals("RL_episode", selection, call.goal)
        self._receive_answer(selection, self._start(selection))
        terminated, truncated, success = np.zeros((3, self.spec.slots), np.bool_)
        on = selection
        while len((on := self._still_on(on)).places):
            if 0 < max_steps <= self.counts.steps[on.slots[0]]:  # they began together
                self.is_cut_off[on.places] = True
                break
            if not self.goes_on():
                raise OutOfOrder("RL_episode was cancelled: the program or the hub left")
            played = self._step(on)
            terminated[on.places] = played.terminated
            truncated[on.places] = played.truncated
            success[on.places] |= played.success
            self._receive_answer(on, played)
        # By slot, in the program's order.
        rows = list(selection.slots)
        return rl.EpisodePlayed(selection.slots, terminated[rows], truncated[rows], success[rows])

    def _stepping(self, named: Sequence[int]) -> Selection:
        """The slots that step. Raises OutOfOrder, OutOfDomain."""
        if not named and (ready := self.stepping()).slots:
            return ready
        on = self.live.nonzero()[0].tolist()  # all slots, for the message that none is in play
        selection = Selection.of(self.all_if_none(named or on))
        self.check_live("RL_step", selection.places)
        self.check_acting("RL_step", selection.places)
        return selection

    def _select(self, named: Sequence[int]) -> Selection:
        """Raises OutOfDomain."""
        return Selection.of(self.all_if_none(named)) if named else self.everyone

    def _still_on(self, selection: Selection) -> Selection:
        """The slots of a selection that are live."""
        live = self.live[selection.places]
        return Selection.of(selection.places[live].tolist()) if 0 in live.tobytes() else selection

    def _start(self, selection: Selection) -> Played:
        """env_start, then agent_start, without waiting for its answer; first observations."""
        played = self.begin(selection)
        ends, observations, places = None, played.observations, selection.places
        if (void := failed(places, played)) is not None:
            ends, places = self.void(places[void]), places[~void]
            observations = {name: rows[~void] for name, rows in observations.items()}
        self.send_turn(ends=ends, starts=self.shared(self.starts(places, observations)))
        return played

    def _step(self, selection: Selection) -> Played:
        """env_step, then agent_step and agent_end, as `_start`; what each action earned."""
        flags = self.flags(selection.places)
        played = self.move(selection, self.actions(selection.places))
        void = failed(selection.places, played)
        ends, steps = ends_and_steps(selection.numbers, flags, played, void)
        self.send_turn(ends=ends, steps=self.shared(steps))
        return played

    def _receive_answer(self, selection: Selection, played: Played) -> None:
        """The agent's answer; then raise the faults, of either side."""
        fault = self.receive_answer()
        if fault is not None:  # the agent gave up in some slots
            self.live[selection.places] &= self.acts[selection.places]
        if played.illegal and fault is None:
            fault = AgentFault("; ".join(played.faults[slot] for slot in sorted(played.illegal)))
        if played.faults or fault is not None:
            faults = {
                slot: what for slot, what in played.faults.items() if slot not in played.illegal
            }
            raise_faults(faults, fault)

    def env_start(self, call: rl.RLEnvStart) -> rl.Started:
        """RL_env_start."""
        selection = Selection.of(self.all_if_none(call.slots))
        self.choose_goals("RL_env_start", selection, call.goal)
        played = self.begin(selection)
        raise_faults(played.faults)
        return rl.Started(selection.slots, self.seen(selection, played.observations), {})

    def env_step(self, call: rl.RLEnvStep) -> rl.Stepped:
        """RL_env_step."""
        selection = self._named(call.slots)
        self.check_live("RL_env_step", selection.places)
        self.check_whole_step("RL_env_step", selection.places)
        allowed = self.allowed(call.slots)
        actions = checked_actions(self.checks, call.actions, len(call.slots), allowed)
        played = self.move(selection, selection.all_ascending(actions))
        raise_faults(played.faults)
        return self.stepped(selection, played, {})

    def agent_start(self, call: rl.RLAgentStart) -> rl.Acted:
        """RL_agent_start."""
        selection = self._named(call.slots)
        self.check_whole("RL_agent_start", selection.places)
        observed = self._observed(selection, call.observations)
        self.check_choices(observed)
        self.send_turn(starts=self.starts(selection.places, observed))
        raise_faults({}, self.receive_answer())
        return rl.Acted(call.slots, self.chosen(selection))

    def agent_step(self, call: rl.RLAgentStep) -> rl.Acted:
        """RL_agent_step."""
        selection = self._acting("RL_agent_step", call.slots)
        rows = self._rows(selection, call, self.flags(selection.places))
        self.check_choices(rows.observations)
        self.send_turn(steps=rows)
        raise_faults({}, self.receive_answer())
        return rl.Acted(call.slots, self.chosen(selection))

    def agent_end(self, call: rl.RLAgentEnd) -> RoutineDone:
        """RL_agent_end."""
        selection = self._acting("RL_agent_end", call.slots)
        kind = EndKind.TRUNCATED if call.truncated else EndKind.TERMINATED
        rows = self._rows(selection, call, np.full(len(call.slots), kind, np.uint8))
        self.send_turn(ends=rows)
        self.is_cut_off[selection.places] = self.live[selection.places]
        raise_faults({}, self.receive_answer())
        return RoutineDone()

    def tasks(self, _call: rl.RLTasks) -> rl.Tasks:
        """RL_tasks."""
        return rl.Tasks(self.cells.goals.variants)

    def iterate_goal(self, call: rl.RLIterateGoal) -> RoutineDone:
        """RL_iterate_goal."""
        selection = self._select(call.slots)
        self.check_between_episodes("RL_iterate_goal", selection.places)
        self.cells.goals.iterate(selection.slots)
        return RoutineDone()

    def _named(self, slots: Sequence[int]) -> Selection:
        check_named(slots, self.spec.slots)
        return Selection.of(slots)

    def _acting(self, routine: str, slots: Sequence[int]) -> Selection:
        selection = self._named(slots)
        self.check_acting(routine, selection.places)
        self.check_whole(routine, selection.places)
        return selection

    def _observed(self, selection: Selection, observations: Arrays) -> Arrays:
        return selection.all_ascending(
            checked_observations(self.spec, observations, len(selection.slots))
        )

    def _rows(
        self, selection: Selection, call: rl.RLAgentStep | rl.RLAgentEnd, marks: Array
    ) -> Rows:
        observed = self._observed(selection, call.observations)
        rewards = selection.ascending(checked_rewards(call.rewards, len(call.slots)))
        return Rows(selection.numbers, marks, observed, rewards)

    def adapt_begin(self, call: AdaptBegin) -> RoutineDone:
        """RL_adapt_begin: the agent returns to what it was before adaptation, and then adapts."""
        self._check_adapts("RL_adapt_begin")
        self.ask_agent(call)
        self.phase = Phase.ADAPT
        self.episodes_to_learn_from = 0
        self.has_adapted = False
        return RoutineDone()

    def adapt(self, call: Adapt) -> RoutineDone:
        """RL_adapt: the agent learns from the episodes since the last one."""
        self._check_adapts("RL_adapt")
        if self.phase is not Phase.ADAPT:
            where = "after RL_freeze" if self.phase is Phase.EVALUATE else "before RL_adapt_begin"
            raise OutOfOrder(got=f"RL_adapt {where}", wanted="RL_adapt_begin first")
        if not self.episodes_to_learn_from:
            since = "the last RL_adapt" if self.has_adapted else "RL_adapt_begin"
            raise OutOfOrder(
                got=f"RL_adapt with no episode since {since}", wanted="RL_episode or RL_start first"
            )
        self.ask_agent(call)
        self.episodes_to_learn_from = 0
        self.has_adapted = True
        return RoutineDone()

    def freeze(self, call: Freeze) -> RoutineDone:
        """RL_freeze: what follows is judged."""
        self.ask_agent(call)
        self.phase = Phase.EVALUATE
        return RoutineDone()

    def _check_adapts(self, routine: str) -> None:
        """Raise NotSupported for an agent that cannot adapt, OutOfOrder in mid-episode."""
        hello = self.agent_hello
        if not hello.adapts:
            got = f"{routine} of {hello.agent!r}, which cannot adapt"
            raise NotSupported(got=got, wanted=adapting_agent(hello))
        for slot in np.flatnonzero(self.acts & ~self.is_cut_off).tolist():
            raise OutOfOrder(
                got=f"{routine} in slot {slot}, which is in mid-episode",
                wanted="the episode's end first: RL_step or RL_episode, or RL_agent_end",
            )

    def standardize(self, call: StandardizeRandomness) -> RoutineDone:
        """RL_standardize_randomness."""
        check_seed(call.seed)
        if not self.ready.standardizes:
            raise NotSupported(
                got="RL_standardize_randomness",
                wanted="an environment that standardizes randomness",
            )
        return self.ask(call, RoutineDone)

    def get_state(self, call: GetState) -> rl.SnapshotKey:
        """RL_get_state."""
        self._check_keeps("RL_get_state", call.slot, able=self.ready.restores)
        self.check_live("RL_get_state", np.array([call.slot]))
        return rl.SnapshotKey(self.keys.keep(STATE, self.ask(call, Snapshot).snapshot))

    def set_state(self, call: rl.RLSetState) -> RoutineDone:
        """RL_set_state: afterwards the slot's environment is in mid-episode."""
        self._check_keeps("RL_set_state", call.slot, able=self.ready.restores)
        self.ask(SetState(call.slot, self.keys.snapshot(STATE, call.key)), RoutineDone)
        self.live[call.slot] = True
        self.is_cut_off[call.slot] = False
        self.forget_mask(call.slot)
        return RoutineDone()

    def get_random_seed(self, call: GetRandomSeed) -> rl.SnapshotKey:
        """RL_get_random_seed."""
        self._check_keeps("RL_get_random_seed", call.slot, able=self.ready.seeds)
        self.check_live("RL_get_random_seed", np.array([call.slot]))
        return rl.SnapshotKey(self.keys.keep(SEED, self.ask(call, Snapshot).snapshot))

    def set_random_seed(self, call: rl.RLSetRandomSeed) -> RoutineDone:
        """RL_set_random_seed."""
        self._check_keeps("RL_set_random_seed", call.slot, able=self.ready.seeds)
        self.check_live("RL_set_random_seed", np.array([call.slot]))
        self.ask(SetRandomSeed(call.slot, self.keys.snapshot(SEED, call.key)), RoutineDone)
        return RoutineDone()

    def _check_keeps(self, routine: str, slot: int, *, able: bool) -> None:
        """Raise OutOfDomain for an unknown slot, NotSupported if the environment cannot do that."""
        check_slot(slot, self.spec.slots)
        if not able:
            what = "its states" if routine.endswith("state") else "its random seeds"
            raise NotSupported(got=routine, wanted=f"an environment that keeps {what}")

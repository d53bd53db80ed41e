"""RL_start, RL_step and RL_episode, and the half steps that touch one side alone.

A fault of one slot ends its episode, and is raised after the others have been served: of a
whole step on both sides, of a half step on the side that failed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glue_server.agent.turn_rows import Rows, ends_and_steps
from glue_server.routines.arguments import (
    check_named,
    checked_actions,
    checked_observations,
    checked_rewards,
)
from glue_server.routines.slot_selection import Selection
from glue_server.routines.slots import JoinedSlots, failed, raise_faults
from reglue.errors import AgentFault, OutOfDomain, OutOfOrder
from reglue.messages.agent_messages import EndKind, RoutineDone
from reglue.messages.environment_messages import Played
from reglue.messages.experiment_messages import (
    Acted,
    EpisodePlayed,
    RLAgentEnd,
    RLAgentStart,
    RLAgentStep,
    RLEnvStart,
    RLEnvStep,
    RLEpisode,
    RLIterateGoal,
    RLStart,
    RLStep,
    RLTasks,
    Started,
    Stepped,
    Tasks,
)
from reglue.spec import Array, Arrays


def rl_start(joined: JoinedSlots, call: RLStart) -> Started:
    """RL_start in the slots that are named, or in all."""
    selection = _select(joined, call.slots)
    joined.check_whole("RL_start", selection.places)
    joined.choose_goals("RL_start", selection, call.goal)
    played = _start(joined, selection)
    _receive_answer(joined, selection, played)
    return Started(
        selection.slots, joined.seen(selection, played.observations), joined.chosen(selection)
    )


def rl_step(joined: JoinedSlots, call: RLStep) -> Stepped:
    """RL_step in the slots that are named, or in all whose episode is on."""
    selection = _stepping(joined, call.slots)
    joined.check_whole("RL_step", selection.places)
    joined.check_whole_step("RL_step", selection.places)
    played = _step(joined, selection)
    _receive_answer(joined, selection, played)
    return joined.stepped(selection, played, joined.chosen(selection))


def rl_episode(joined: JoinedSlots, call: RLEpisode) -> EpisodePlayed:
    """RL_episode of RL-Glue 3.0 in the slots that are named, or in all."""
    selection, max_steps = _select(joined, call.slots), call.max_steps
    if max_steps < 0:
        raise OutOfDomain(got=f"max_steps {max_steps}", wanted="0 (no limit) or more")
    if max_steps == 0 and joined.spec.continuing:
        raise OutOfDomain(
            got="RL_episode without a step limit",
            wanted="max_steps of 1 or more: this task never ends",
        )
    joined.check_whole("RL_episode", selection.places)
    joined.check_whole_step("RL_episode", selection.places)
    joined.choose_goals("RL_episode", selection, call.goal)
    _receive_answer(joined, selection, _start(joined, selection))
    terminated, truncated, success = np.zeros((3, joined.spec.slots), np.bool_)
    on = selection
    while len((on := _still_on(joined, on)).places):
        if 0 < max_steps <= joined.counts.steps[on.slots[0]]:  # they began together
            joined.is_cut_off[on.places] = True
            break
        if not joined.goes_on():
            raise OutOfOrder("RL_episode was cancelled: the program or the hub left")
        played = _step(joined, on)
        terminated[on.places] = played.terminated
        truncated[on.places] = played.truncated
        success[on.places] |= played.success
        _receive_answer(joined, on, played)
    # By slot, in the program's order.
    rows = list(selection.slots)
    return EpisodePlayed(selection.slots, terminated[rows], truncated[rows], success[rows])


def _stepping(joined: JoinedSlots, named: Sequence[int]) -> Selection:
    """The slots that step. Raises OutOfOrder, OutOfDomain."""
    if not named and (ready := joined.stepping()).slots:
        return ready
    on = joined.live.nonzero()[0].tolist()  # all slots, for the message that none is in play
    selection = Selection.of(joined.all_if_none(named or on))
    joined.check_live("RL_step", selection.places)
    joined.check_acting("RL_step", selection.places)
    return selection


def _select(joined: JoinedSlots, named: Sequence[int]) -> Selection:
    """Raises OutOfDomain."""
    return Selection.of(joined.all_if_none(named)) if named else joined.everyone


def _still_on(joined: JoinedSlots, selection: Selection) -> Selection:
    """Those of them that are live."""
    live = joined.live[selection.places]
    return Selection.of(selection.places[live].tolist()) if 0 in live.tobytes() else selection


def _start(joined: JoinedSlots, selection: Selection) -> Played:
    """env_start, then agent_start, without waiting for its answer; first observations."""
    played = joined.begin(selection)
    ends, observations, places = None, played.observations, selection.places
    if (void := failed(places, played)) is not None:
        ends, places = joined.void(places[void]), places[~void]
        observations = {name: rows[~void] for name, rows in observations.items()}
    joined.send_turn(ends=ends, starts=joined.shared(joined.starts(places, observations)))
    return played


def _step(joined: JoinedSlots, selection: Selection) -> Played:
    """env_step, then agent_step and agent_end, as `_start`; what each action earned."""
    flags = joined.flags(selection.places)
    played = joined.move(selection, joined.actions(selection.places))
    void = failed(selection.places, played)
    ends, steps = ends_and_steps(selection.numbers, flags, played, void)
    joined.send_turn(ends=ends, steps=joined.shared(steps))
    return played


def _receive_answer(joined: JoinedSlots, selection: Selection, played: Played) -> None:
    """The agent's answer; then raise the faults, of either side."""
    fault = joined.receive_answer()
    if fault is not None:  # the agent gave up in some slots
        joined.live[selection.places] &= joined.acts[selection.places]
    if played.illegal and fault is None:
        fault = AgentFault("; ".join(played.faults[slot] for slot in sorted(played.illegal)))
    if played.faults or fault is not None:
        faults = {slot: what for slot, what in played.faults.items() if slot not in played.illegal}
        raise_faults(faults, fault)


def env_start(joined: JoinedSlots, call: RLEnvStart) -> Started:
    """RL_env_start."""
    selection = Selection.of(joined.all_if_none(call.slots))
    joined.choose_goals("RL_env_start", selection, call.goal)
    played = joined.begin(selection)
    raise_faults(played.faults)
    return Started(selection.slots, joined.seen(selection, played.observations), {})


def env_step(joined: JoinedSlots, call: RLEnvStep) -> Stepped:
    """RL_env_step."""
    selection = _named(joined, call.slots)
    joined.check_live("RL_env_step", selection.places)
    joined.check_whole_step("RL_env_step", selection.places)
    actions = checked_actions(joined.checks, call.actions, len(call.slots))
    played = joined.move(selection, selection.all_ascending(actions))
    raise_faults(played.faults)
    return joined.stepped(selection, played, {})


def agent_start(joined: JoinedSlots, call: RLAgentStart) -> Acted:
    """RL_agent_start."""
    selection = _named(joined, call.slots)
    joined.check_whole("RL_agent_start", selection.places)
    observed = _observed(joined, selection, call.observations)
    joined.send_turn(starts=joined.starts(selection.places, observed))
    raise_faults({}, joined.receive_answer())
    return Acted(call.slots, joined.chosen(selection))


def agent_step(joined: JoinedSlots, call: RLAgentStep) -> Acted:
    """RL_agent_step."""
    selection = _acting(joined, "RL_agent_step", call.slots)
    rows = _rows(joined, selection, call, joined.flags(selection.places))
    joined.send_turn(steps=rows)
    raise_faults({}, joined.receive_answer())
    return Acted(call.slots, joined.chosen(selection))


def agent_end(joined: JoinedSlots, call: RLAgentEnd) -> RoutineDone:
    """RL_agent_end."""
    selection = _acting(joined, "RL_agent_end", call.slots)
    kind = EndKind.TRUNCATED if call.truncated else EndKind.TERMINATED
    rows = _rows(joined, selection, call, np.full(len(call.slots), kind, np.uint8))
    joined.send_turn(ends=rows)
    joined.is_cut_off[selection.places] = joined.live[selection.places]
    raise_faults({}, joined.receive_answer())
    return RoutineDone()


def tasks(joined: JoinedSlots, _call: RLTasks) -> Tasks:
    """RL_tasks."""
    return Tasks(joined.cells.goals.variants)


def iterate_goal(joined: JoinedSlots, call: RLIterateGoal) -> RoutineDone:
    """RL_iterate_goal."""
    selection = _select(joined, call.slots)
    joined.check_between_episodes("RL_iterate_goal", selection.places)
    joined.cells.goals.iterate(selection.slots)
    return RoutineDone()


def _named(joined: JoinedSlots, slots: Sequence[int]) -> Selection:
    check_named(slots, joined.spec.slots)
    return Selection.of(slots)


def _acting(joined: JoinedSlots, routine: str, slots: Sequence[int]) -> Selection:
    selection = _named(joined, slots)
    joined.check_acting(routine, selection.places)
    joined.check_whole(routine, selection.places)
    return selection


def _observed(joined: JoinedSlots, selection: Selection, observations: Arrays) -> Arrays:
    return selection.all_ascending(
        checked_observations(joined.spec, observations, len(selection.slots))
    )


def _rows(
    joined: JoinedSlots, selection: Selection, call: RLAgentStep | RLAgentEnd, marks: Array
) -> Rows:
    observed = _observed(joined, selection, call.observations)
    rewards = selection.ascending(checked_rewards(call.rewards, len(call.slots)))
    return Rows(selection.numbers, marks, observed, rewards)

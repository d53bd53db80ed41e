"""RL_start, RL_step and RL_episode, and the half steps that touch one side alone.

A fault of one slot ends its episode, and is raised after the others have been served: of a
whole step on both sides, of a half step on the side that failed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glue_server.agent.calls import Rows, ends_and_steps
from glue_server.routines.arguments import (
    actions_given,
    check_named,
    observations_given,
    rewards_given,
)
from glue_server.routines.slots import Asked, JoinedSlots, failed, raise_faults
from reglue.errors import AgentFault, OutOfDomain, OutOfOrder
from reglue.messages.agent import EndKind, RoutineDone
from reglue.messages.environment import Played
from reglue.messages.experiment import (
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
    asked = _asked(joined, call.slots)
    joined.check_whole("RL_start", asked.places)
    joined.choose_goals("RL_start", asked, call.goal)
    played = _start(joined, asked)
    _receive_answer(joined, asked, played)
    return Started(asked.slots, joined.seen(asked, played.observations), joined.chosen(asked))


def rl_step(joined: JoinedSlots, call: RLStep) -> Stepped:
    """RL_step in the slots that are named, or in all whose episode is on."""
    asked = _stepping(joined, call.slots)
    joined.check_whole("RL_step", asked.places)
    played = _step(joined, asked)
    _receive_answer(joined, asked, played)
    return joined.stepped(asked, played, joined.chosen(asked))


def rl_episode(joined: JoinedSlots, call: RLEpisode) -> EpisodePlayed:
    """RL_episode of RL-Glue 3.0 in the slots that are named, or in all."""
    asked, max_steps = _asked(joined, call.slots), call.max_steps
    if max_steps < 0:
        raise OutOfDomain(got=f"max_steps {max_steps}", wanted="0 (no limit) or more")
    if max_steps == 0 and joined.spec.continuing:
        raise OutOfDomain(
            got="RL_episode without a step limit",
            wanted="max_steps of 1 or more: this task never ends",
        )
    joined.check_whole("RL_episode", asked.places)
    joined.choose_goals("RL_episode", asked, call.goal)
    _receive_answer(joined, asked, _start(joined, asked))
    terminated, truncated, success = np.zeros((3, joined.spec.slots), np.bool_)
    on = asked
    while len((on := _still_on(joined, on)).places):
        if 0 < max_steps <= joined.counts.steps[on.slots[0]]:  # they began together
            joined.is_cut_off[on.places] = True
            break
        if not joined.goes_on():
            raise OutOfOrder(got="RL_episode, cancelled", wanted="a program and a hub that stay")
        played = _step(joined, on)
        terminated[on.places] = played.terminated
        truncated[on.places] = played.truncated
        success[on.places] |= played.success
        _receive_answer(joined, on, played)
    # By slot, in the program's order.
    rows = list(asked.slots)
    return EpisodePlayed(asked.slots, terminated[rows], truncated[rows], success[rows])


def _stepping(joined: JoinedSlots, named: Sequence[int]) -> Asked:
    """The slots that step. Raises OutOfOrder, OutOfDomain."""
    if not named and (ready := joined.stepping()).slots:
        return ready
    on = joined.live.nonzero()[0].tolist()  # all slots, for the message that none is in play
    asked = Asked.of(joined.all_if_none(named or on))
    joined.check_live("RL_step", asked.places)
    joined.check_acting("RL_step", asked.places)
    return asked


def _asked(joined: JoinedSlots, named: Sequence[int]) -> Asked:
    """Raises OutOfDomain."""
    return Asked.of(joined.all_if_none(named)) if named else joined.everyone


def _still_on(joined: JoinedSlots, asked: Asked) -> Asked:
    """Those of them that are live."""
    live = joined.live[asked.places]
    return Asked.of(asked.places[live].tolist()) if 0 in live.tobytes() else asked


def _start(joined: JoinedSlots, asked: Asked) -> Played:
    """env_start, then agent_start, without waiting for its answer; first observations."""
    played = joined.begin(asked)
    ends, observations, places = None, played.observations, asked.places
    if (void := failed(places, played)) is not None:
        ends, places = joined.void(places[void]), places[~void]
        observations = {name: rows[~void] for name, rows in observations.items()}
    joined.send_turn(ends=ends, starts=joined.shared(joined.starts(places, observations)))
    return played


def _step(joined: JoinedSlots, asked: Asked) -> Played:
    """env_step, then agent_step and agent_end, as `_start`; what each action earned."""
    flags = joined.flags(asked.places)
    played = joined.move(asked, joined.actions(asked.places))
    void = failed(asked.places, played)
    ends, steps = ends_and_steps(asked.numbers, flags, played, void)
    joined.send_turn(ends=ends, steps=joined.shared(steps))
    return played


def _receive_answer(joined: JoinedSlots, asked: Asked, played: Played) -> None:
    """The agent's answer; then raise the faults, of either side."""
    fault = joined.receive_answer()
    if fault is not None:  # it does not act everywhere
        joined.live[asked.places] &= joined.acts[asked.places]
    if played.illegal and fault is None:
        fault = AgentFault("; ".join(played.faults[slot] for slot in sorted(played.illegal)))
    faults = {slot: what for slot, what in played.faults.items() if slot not in played.illegal}
    raise_faults(faults, fault)


def env_start(joined: JoinedSlots, call: RLEnvStart) -> Started:
    """RL_env_start."""
    asked = Asked.of(joined.all_if_none(call.slots))
    joined.choose_goals("RL_env_start", asked, call.goal)
    played = joined.begin(asked)
    raise_faults(played.faults)
    return Started(asked.slots, joined.seen(asked, played.observations), {})


def env_step(joined: JoinedSlots, call: RLEnvStep) -> Stepped:
    """RL_env_step."""
    asked = _named(joined, call.slots)
    joined.check_live("RL_env_step", asked.places)
    actions = actions_given(joined.checks, call.actions, len(call.slots))
    played = joined.move(asked, asked.all_ascending(actions))
    raise_faults(played.faults)
    return joined.stepped(asked, played, {})


def agent_start(joined: JoinedSlots, call: RLAgentStart) -> Acted:
    """RL_agent_start."""
    asked = _named(joined, call.slots)
    joined.check_whole("RL_agent_start", asked.places)
    observed = _observed(joined, asked, call.observations)
    joined.send_turn(starts=joined.starts(asked.places, observed))
    raise_faults({}, joined.receive_answer())
    return Acted(call.slots, joined.chosen(asked))


def agent_step(joined: JoinedSlots, call: RLAgentStep) -> Acted:
    """RL_agent_step."""
    asked = _acting(joined, "RL_agent_step", call.slots)
    rows = _rows(joined, asked, call, joined.flags(asked.places))
    joined.send_turn(steps=rows)
    raise_faults({}, joined.receive_answer())
    return Acted(call.slots, joined.chosen(asked))


def agent_end(joined: JoinedSlots, call: RLAgentEnd) -> RoutineDone:
    """RL_agent_end."""
    asked = _acting(joined, "RL_agent_end", call.slots)
    kind = EndKind.TRUNCATED if call.truncated else EndKind.TERMINATED
    rows = _rows(joined, asked, call, np.full(len(call.slots), kind, np.uint8))
    joined.send_turn(ends=rows)
    joined.is_cut_off[asked.places] = joined.live[asked.places]
    raise_faults({}, joined.receive_answer())
    return RoutineDone()


def tasks(joined: JoinedSlots, _call: RLTasks) -> Tasks:
    """RL_tasks."""
    return Tasks(joined.cells.goals.variants)


def iterate_goal(joined: JoinedSlots, call: RLIterateGoal) -> RoutineDone:
    """RL_iterate_goal."""
    asked = _asked(joined, call.slots)
    joined.check_between_episodes("RL_iterate_goal", asked.places)
    joined.cells.goals.iterate(asked.slots)
    return RoutineDone()


def _named(joined: JoinedSlots, slots: Sequence[int]) -> Asked:
    check_named(slots, joined.spec.slots)
    return Asked.of(slots)


def _acting(joined: JoinedSlots, routine: str, slots: Sequence[int]) -> Asked:
    asked = _named(joined, slots)
    joined.check_acting(routine, asked.places)
    joined.check_whole(routine, asked.places)
    return asked


def _observed(joined: JoinedSlots, asked: Asked, observations: Arrays) -> Arrays:
    return asked.all_ascending(observations_given(joined.spec, observations, len(asked.slots)))


def _rows(joined: JoinedSlots, asked: Asked, call: RLAgentStep | RLAgentEnd, marks: Array) -> Rows:
    observed = _observed(joined, asked, call.observations)
    rewards = asked.ascending(rewards_given(call.rewards, len(call.slots)))
    return Rows(asked.numbers, marks, observed, rewards)

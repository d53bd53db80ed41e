"""RL_start, RL_step and RL_episode: both halves of a slot together.

A fault of one slot ends its episode, on both sides, and is raised after the others
have been served.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glue_server.agent.turns import ends_and_steps
from glue_server.routines.rows import Asked
from glue_server.routines.slots import JoinedSlots, failed, raise_faults
from reglue.errors import OutOfDomain, OutOfOrder
from reglue.messages.environment import Played
from reglue.messages.experiment import EpisodePlayed, Started, Stepped


def rl_start(joined: JoinedSlots, slots: Sequence[int]) -> Started:
    """RL_start in `slots`, or in all."""
    asked = _asked(joined, slots)
    joined.check_whole("RL_start", asked.places)
    played = _start(joined, asked)
    _hear(joined, asked, played)
    return Started(asked.slots, joined.seen(asked, played.observations), joined.chosen(asked))


def rl_step(joined: JoinedSlots, slots: Sequence[int]) -> Stepped:
    """RL_step in `slots`, or in all whose episode is on."""
    asked = _stepping(joined, slots)
    joined.check_whole("RL_step", asked.places)
    played = _step(joined, asked)
    _hear(joined, asked, played)
    return joined.stepped(asked, played, joined.chosen(asked))


def rl_episode(joined: JoinedSlots, max_steps: int, slots: Sequence[int]) -> EpisodePlayed:
    """RL_episode of RL-Glue 3.0 in `slots`, or in all."""
    asked = _asked(joined, slots)
    if max_steps < 0:
        raise OutOfDomain(got=f"max_steps {max_steps}", wanted="0 (no limit) or more")
    if max_steps == 0 and joined.spec.continuing:
        raise OutOfDomain(
            got="RL_episode without a step limit",
            wanted="max_steps of 1 or more: this task never ends",
        )
    joined.check_whole("RL_episode", asked.places)
    _hear(joined, asked, _start(joined, asked))
    terminated, truncated, success = np.zeros((3, joined.spec.slots), np.bool_)
    on = asked
    while len((on := _still_on(joined, on)).places):
        if 0 < max_steps <= joined.counts.steps[on.slots[0]]:  # they began together
            break
        if not joined.goes_on():
            raise OutOfOrder(got="RL_episode, broken off", wanted="a program and a hub that stay")
        played = _step(joined, on)
        terminated[on.places] = played.terminated
        truncated[on.places] = played.truncated
        success[on.places] |= played.success
        _hear(joined, on, played)
    # By slot, in the program's order.
    rows = list(asked.slots)
    return EpisodePlayed(asked.slots, terminated[rows], truncated[rows], success[rows])


def _stepping(joined: JoinedSlots, named: Sequence[int]) -> Asked:
    """The slots that step. Raises OutOfOrder, OutOfDomain."""
    if not named and (ready := joined.stepping()).slots:
        return ready
    on = joined.live.nonzero()[0].tolist()  # all, where there is none: for the words that say so
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
    """env_start, then agent_start, whose answer is still to be heard; first observations."""
    played = joined.begin(asked)
    ends, observations, places = None, played.observations, asked.places
    if (void := failed(places, played)) is not None:
        ends, places = joined.void(places[void]), places[~void]
        observations = {name: rows[~void] for name, rows in observations.items()}
    # Read-only, since a program in this process gets the same arrays.
    joined.tell(ends=ends, starts=joined.starts(places, observations).read_only())
    return played


def _step(joined: JoinedSlots, asked: Asked) -> Played:
    """env_step, then agent_step and agent_end, as `_start`; what each action earned."""
    flags = joined.flags(asked.places)
    played = joined.move(asked, joined.actions(asked.places))
    void = failed(asked.places, played)
    ends, steps = ends_and_steps(asked.numbers, flags, played, void)
    joined.tell(ends=ends, steps=steps.read_only())
    return played


def _hear(joined: JoinedSlots, asked: Asked, played: Played) -> None:
    """The agent's answer; then raise the faults, of either side."""
    fault = joined.hear()
    if fault is not None:  # it does not act everywhere
        joined.live[asked.places] &= joined.acts[asked.places]
    raise_faults(played.faults, fault)

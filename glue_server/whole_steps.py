"""RL_start, RL_step and RL_episode: both halves of a slot together.

A fault of one slot ends its episode, on both sides, and is raised after the others
have been served.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from glue_server.joined import Joined, failures, first_of, raise_faults, steps_of
from glue_server.played import Answer
from glue_server.rows import stacked, stepped
from glue_server.turns import Row
from reglue.calls import EndKind
from reglue.errors import OutOfDomain, OutOfOrder
from reglue.experiment_calls import EpisodePlayed, Started, Stepped
from reglue.spec import Arrays
from reglue.worlds import Step


def rl_start(joined: Joined, slots: Sequence[int]) -> Started:
    """RL_start in `slots`, or in all."""
    slots = joined.all_if_none(slots)
    joined.agent.check_whole("RL_start", slots)
    first = _start(joined, slots)
    observations = stacked(joined.spec, [first[slot] for slot in slots])
    return Started(tuple(slots), observations, joined.agent.actions(slots))


def rl_step(joined: Joined, slots: Sequence[int]) -> Stepped:
    """RL_step in `slots`, or in all whose episode is on."""
    slots = _stepping(joined, slots)
    steps = _step(joined, slots)
    return stepped(joined.spec, slots, steps, joined.agent.actions(slots))


def rl_episode(joined: Joined, max_steps: int, slots: Sequence[int]) -> EpisodePlayed:
    """RL_episode of RL-Glue 3.0 in `slots`, or in all."""
    slots = joined.all_if_none(slots)
    if max_steps < 0:
        raise OutOfDomain(got=f"max_steps {max_steps}", wanted="0 (no limit) or more")
    if max_steps == 0 and joined.spec.continuing:
        raise OutOfDomain(
            got="RL_episode without a step limit",
            wanted="max_steps of 1 or more: this task never ends",
        )
    joined.agent.check_whole("RL_episode", slots)
    _start(joined, slots)
    last: dict[int, Step] = {}
    solved: set[int] = set()
    while on := [slot for slot in slots if slot in joined.live]:
        if 0 < max_steps <= joined.counts[on[0]].steps:  # they began together
            break
        if not joined.goes_on():
            raise OutOfOrder(got="RL_episode, broken off", wanted="a program and a hub that stay")
        last |= _step(joined, on)
        solved |= {slot for slot in on if last[slot].success}
    return EpisodePlayed(
        tuple(slots),
        terminated=np.array([slot in last and last[slot].terminated for slot in slots]),
        truncated=np.array([slot in last and last[slot].truncated for slot in slots]),
        success=np.array([slot in solved for slot in slots]),
    )


def _stepping(joined: Joined, slots: Sequence[int]) -> Sequence[int]:
    """The slots that step. Raises OutOfOrder, OutOfDomain."""
    slots = joined.all_if_none(slots) if slots else _ready_to_step(joined)
    joined.check_live("RL_step", slots)
    joined.check_acting("RL_step", slots)
    joined.agent.check_whole("RL_step", slots)
    return slots


def _ready_to_step(joined: Joined) -> Sequence[int]:
    """All whose episode is on; where there is none, all: for the words that say so."""
    both = sorted(joined.live & joined.agent.upcoming.keys())
    return both or sorted(joined.live) or range(joined.spec.slots)


def _start(joined: Joined, slots: Iterable[int]) -> dict[int, Arrays]:
    """env_start, then agent_start; first observations."""
    answers = joined.begin(slots)
    first = first_of(answers)
    starts = [Row(slot, seen, joined.cells.start_seed(slot)) for slot, seen in first.items()]
    _tell(joined, answers, starts=starts)
    return first


def _step(joined: Joined, slots: Iterable[int]) -> dict[int, Step]:
    """env_step, then agent_step and agent_end; what each action earned."""
    upcoming = {slot: joined.agent.upcoming[slot] for slot in sorted(slots)}
    answers = joined.move({slot: each.action for slot, each in upcoming.items()})
    earned = steps_of(answers)
    ends, steps = [], []
    for slot, step in earned.items():
        if step.terminated or step.truncated:
            kind = EndKind.TERMINATED if step.terminated else EndKind.TRUNCATED
            ends.append(Row(slot, step.observation, int(kind), step.reward))
        else:
            steps.append(Row(slot, step.observation, upcoming[slot].flags, step.reward))
    _tell(joined, answers, ends=ends, steps=steps)
    return earned


def _tell(
    joined: Joined,
    answers: Mapping[int, Answer],
    *,
    ends: Sequence[Row] = (),
    steps: Sequence[Row] = (),
    starts: Sequence[Row] = (),
) -> None:
    """The agent's turn, with a void end where the environment failed; then raise the faults."""
    void = joined.agent.void(failures(answers))
    ends = sorted([*ends, *void], key=lambda row: row.slot)
    fault = joined.tell(ends=ends, steps=steps, starts=starts)
    joined.live -= {row.slot for row in (*steps, *starts)} - joined.agent.upcoming.keys()
    raise_faults(answers, fault)

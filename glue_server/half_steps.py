"""The half steps, for programs that stand between the two: each touches its half alone.

A fault is raised, and ends the slots' episodes on the side that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from glue_server.given import actions_given, check_named, observations_given, rewards_given
from glue_server.joined import Joined, first_of, raise_faults, steps_of
from glue_server.rows import stacked, stepped
from glue_server.turns import Row
from reglue.calls import Done, EndKind
from reglue.experiment_calls import (
    Acted,
    AgentEnd,
    AgentStart,
    AgentStep,
    EnvStart,
    EnvStep,
    Started,
    Stepped,
)
from reglue.spec import Arrays

_Row = TypeVar("_Row")


def env_start(joined: Joined, call: EnvStart) -> Started:
    """RL_env_start."""
    slots = joined.all_if_none(call.slots)
    answers = joined.begin(slots)
    raise_faults(answers)
    first = first_of(answers)
    return Started(tuple(slots), stacked(joined.spec, [first[slot] for slot in slots]), {})


def env_step(joined: Joined, call: EnvStep) -> Stepped:
    """RL_env_step."""
    check_named(call.slots, joined.spec.slots)
    joined.check_live("RL_env_step", call.slots)
    checked = actions_given(joined.spec, call.actions, len(call.slots))
    answers = joined.move(dict(sorted(zip(call.slots, checked.rows, strict=True))))
    raise_faults(answers)
    return stepped(joined.spec, call.slots, steps_of(answers), {})


def agent_start(joined: Joined, call: AgentStart) -> Acted:
    """RL_agent_start."""
    check_named(call.slots, joined.spec.slots)
    joined.agent.check_whole("RL_agent_start", call.slots)
    observed = _rows(joined, call.slots, call.observations)
    fault = joined.tell(
        starts=[Row(slot, observed[slot], joined.cells.start_seed(slot)) for slot in observed]
    )
    raise_faults({}, fault)
    return Acted(call.slots, joined.agent.actions(call.slots))


def agent_step(joined: Joined, call: AgentStep) -> Acted:
    """RL_agent_step."""
    check_named(call.slots, joined.spec.slots)
    joined.check_acting("RL_agent_step", call.slots)
    joined.agent.check_whole("RL_agent_step", call.slots)
    observed = _rows(joined, call.slots, call.observations)
    rewards = _by_slot(call.slots, rewards_given(call.rewards, len(call.slots)))
    flags = {slot: joined.agent.upcoming[slot].flags for slot in call.slots}
    fault = joined.tell(
        steps=[Row(slot, observed[slot], flags[slot], rewards[slot]) for slot in observed]
    )
    raise_faults({}, fault)
    return Acted(call.slots, joined.agent.actions(call.slots))


def agent_end(joined: Joined, call: AgentEnd) -> Done:
    """RL_agent_end."""
    check_named(call.slots, joined.spec.slots)
    joined.check_acting("RL_agent_end", call.slots)
    joined.agent.check_whole("RL_agent_end", call.slots)
    observed = _rows(joined, call.slots, call.observations)
    rewards = _by_slot(call.slots, rewards_given(call.rewards, len(call.slots)))
    kind = int(EndKind.TRUNCATED if call.truncated else EndKind.TERMINATED)
    fault = joined.tell(ends=[Row(slot, observed[slot], kind, rewards[slot]) for slot in observed])
    raise_faults({}, fault)
    return Done()


def _rows(joined: Joined, slots: Sequence[int], observations: Arrays) -> dict[int, Arrays]:
    """Each slot's observation, in the order of slots."""
    given = observations_given(joined.spec, observations, len(slots))
    rows = [{name: part[row] for name, part in given.items()} for row in range(len(slots))]
    return _by_slot(slots, rows)


def _by_slot(slots: Sequence[int], rows: Sequence[_Row]) -> dict[int, _Row]:
    return dict(sorted(zip(slots, rows, strict=True), key=lambda pair: pair[0]))

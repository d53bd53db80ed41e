"""The half steps, for programs that stand between the two: each touches its half alone.

A fault is raised, and ends the slots' episodes on the side that failed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glue_server.agent.turns import Rows
from glue_server.routines.arguments import (
    actions_given,
    check_named,
    observations_given,
    rewards_given,
)
from glue_server.routines.rows import Asked
from glue_server.routines.slots import JoinedSlots, raise_faults
from reglue.messages.agent import Done, EndKind
from reglue.messages.experiment import (
    Acted,
    AgentEnd,
    AgentStart,
    AgentStep,
    EnvStart,
    EnvStep,
    Started,
    Stepped,
)
from reglue.spec import Array, Arrays


def env_start(joined: JoinedSlots, call: EnvStart) -> Started:
    """RL_env_start."""
    asked = Asked.of(joined.all_if_none(call.slots))
    played = joined.begin(asked)
    raise_faults(played.faults)
    return Started(asked.slots, joined.seen(asked, played.observations), {})


def env_step(joined: JoinedSlots, call: EnvStep) -> Stepped:
    """RL_env_step."""
    asked = _named(joined, call.slots)
    joined.check_live("RL_env_step", asked.places)
    actions = actions_given(joined.checks, call.actions, len(call.slots))
    played = joined.move(asked, asked.all_ascending(actions))
    raise_faults(played.faults)
    return joined.stepped(asked, played, {})


def agent_start(joined: JoinedSlots, call: AgentStart) -> Acted:
    """RL_agent_start."""
    asked = _named(joined, call.slots)
    joined.check_whole("RL_agent_start", asked.places)
    observed = _observed(joined, asked, call.observations)
    joined.tell(starts=joined.starts(asked.places, observed))
    raise_faults({}, joined.hear())
    return Acted(call.slots, joined.chosen(asked))


def agent_step(joined: JoinedSlots, call: AgentStep) -> Acted:
    """RL_agent_step."""
    asked = _acting(joined, "RL_agent_step", call.slots)
    rows = _rows(joined, asked, call, joined.flags(asked.places))
    joined.tell(steps=rows)
    raise_faults({}, joined.hear())
    return Acted(call.slots, joined.chosen(asked))


def agent_end(joined: JoinedSlots, call: AgentEnd) -> Done:
    """RL_agent_end."""
    asked = _acting(joined, "RL_agent_end", call.slots)
    kind = EndKind.TRUNCATED if call.truncated else EndKind.TERMINATED
    rows = _rows(joined, asked, call, np.full(len(call.slots), kind, np.uint8))
    joined.tell(ends=rows)
    raise_faults({}, joined.hear())
    return Done()


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


def _rows(joined: JoinedSlots, asked: Asked, call: AgentStep | AgentEnd, marks: Array) -> Rows:
    observed = _observed(joined, asked, call.observations)
    rewards = asked.ascending(rewards_given(call.rewards, len(call.slots)))
    return Rows(asked.numbers, marks, observed, rewards)

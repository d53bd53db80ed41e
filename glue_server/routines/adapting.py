"""RL_adapt_begin, RL_adapt and RL_freeze: what the agent's next episodes are for."""

from __future__ import annotations

import numpy as np

from glue_server.agent.capability import adapting_agent
from glue_server.routines.slots import JoinedSlots
from reglue.errors import NotSupported, OutOfOrder
from reglue.messages.agent_messages import Adapt, AdaptBegin, Freeze, Phase, RoutineDone


def adapt_begin(joined: JoinedSlots, call: AdaptBegin) -> RoutineDone:
    """RL_adapt_begin: the agent returns to what it was before adaptation, and then adapts."""
    _check(joined, "RL_adapt_begin")
    joined.ask_agent(call)
    joined.phase = Phase.ADAPT
    joined.episodes_to_learn_from = 0
    joined.has_adapted = False
    return RoutineDone()


def adapt(joined: JoinedSlots, call: Adapt) -> RoutineDone:
    """RL_adapt: the agent learns from the episodes since the last one."""
    _check(joined, "RL_adapt")
    if joined.phase is not Phase.ADAPT:
        where = "after RL_freeze" if joined.phase is Phase.EVALUATE else "before RL_adapt_begin"
        raise OutOfOrder(got=f"RL_adapt {where}", wanted="RL_adapt_begin first")
    if not joined.episodes_to_learn_from:
        since = "the last RL_adapt" if joined.has_adapted else "RL_adapt_begin"
        raise OutOfOrder(
            got=f"RL_adapt with no episode since {since}", wanted="RL_episode or RL_start first"
        )
    joined.ask_agent(call)
    joined.episodes_to_learn_from = 0
    joined.has_adapted = True
    return RoutineDone()


def freeze(joined: JoinedSlots, call: Freeze) -> RoutineDone:
    """RL_freeze: what follows is judged."""
    joined.ask_agent(call)
    joined.phase = Phase.EVALUATE
    return RoutineDone()


def _check(joined: JoinedSlots, routine: str) -> None:
    """Raise NotSupported for an agent that cannot adapt, OutOfOrder in mid-episode."""
    hello = joined.agent_hello
    if not hello.adapts:
        got = f"{routine} of {hello.agent!r}, which cannot adapt"
        raise NotSupported(got=got, wanted=adapting_agent(hello))
    for slot in np.flatnonzero(joined.acts & ~joined.is_cut_off).tolist():
        raise OutOfOrder(
            got=f"{routine} in slot {slot}, which is in mid-episode",
            wanted="the episode's end first: RL_step or RL_episode, or RL_agent_end",
        )

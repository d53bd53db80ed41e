"""Worlds of a server of another protocol, in whose slots episodes have begun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from reglue.bridges.server_worlds import ServerWorlds
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played

W = TypeVar("W", bound=ServerWorlds)

_NO_SLOTS = np.zeros(0, np.uint32)


@contextmanager
def begun(environment: W, slots: int) -> Iterator[W]:
    """The environment with an episode in each slot."""
    environment.spec = environment.env_init(slots).with_slots(slots)
    try:
        start(environment, range(slots))
        yield environment
    finally:
        environment.env_cleanup()


def start(environment: ServerWorlds, slots: Any) -> Played:
    """Begin an episode in each of these slots."""
    (variant,) = environment.variants
    cells = {slot: Cell(variant, 0, slot, 0, Phase.EVALUATE) for slot in slots}
    return environment.play(Play(_NO_SLOTS, {}, cells))


def step(environment: ServerWorlds, *slots: int, **actions: Any) -> Played:
    """Take a step in these slots: `actions` are (slots, *shape), by name; the others are zero."""
    zeros = {each.name: each.empty(len(slots)) for each in environment.spec.actions}
    return environment.play(Play(np.array(slots, np.uint32), {**zeros, **actions}, {}))

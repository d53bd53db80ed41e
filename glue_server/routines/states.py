"""States and random seeds of the environment, kept by the glue and named by keys."""

from __future__ import annotations

import numpy as np

from glue_server.routines.arguments import check_slot
from glue_server.routines.keys import SEED, STATE, SnapshotKeys
from glue_server.routines.slots import JoinedSlots
from reglue.errors import NotSupported
from reglue.messages.agent import Done
from reglue.messages.environment import (
    GetRandomSeed,
    GetState,
    SetRandomSeed,
    SetState,
    Snapshot,
)
from reglue.messages.experiment import Key, RLSetRandomSeed, RLSetState


def get_state(joined: JoinedSlots, keys: SnapshotKeys, call: GetState) -> Key:
    """RL_get_state."""
    _check(joined, "RL_get_state", call.slot, able=joined.ready.restores)
    joined.check_live("RL_get_state", np.array([call.slot]))
    return Key(keys.keep(STATE, joined.ask(call, Snapshot).snapshot))


def set_state(joined: JoinedSlots, keys: SnapshotKeys, call: RLSetState) -> Done:
    """RL_set_state: the slot's environment is in mid-episode, whatever it was."""
    _check(joined, "RL_set_state", call.slot, able=joined.ready.restores)
    joined.ask(SetState(call.slot, keys.snapshot(STATE, call.key)), Done)
    joined.live[call.slot] = True
    return Done()


def get_random_seed(joined: JoinedSlots, keys: SnapshotKeys, call: GetRandomSeed) -> Key:
    """RL_get_random_seed."""
    _check(joined, "RL_get_random_seed", call.slot, able=joined.ready.seeds)
    joined.check_live("RL_get_random_seed", np.array([call.slot]))
    return Key(keys.keep(SEED, joined.ask(call, Snapshot).snapshot))


def set_random_seed(joined: JoinedSlots, keys: SnapshotKeys, call: RLSetRandomSeed) -> Done:
    """RL_set_random_seed."""
    _check(joined, "RL_set_random_seed", call.slot, able=joined.ready.seeds)
    joined.check_live("RL_set_random_seed", np.array([call.slot]))
    joined.ask(SetRandomSeed(call.slot, keys.snapshot(SEED, call.key)), Done)
    return Done()


def _check(joined: JoinedSlots, routine: str, slot: int, *, able: bool) -> None:
    """Raise OutOfDomain for a slot that there is not, NotSupported where it cannot be done."""
    check_slot(slot, joined.spec.slots)
    if not able:
        what = "its states" if routine.endswith("state") else "where its chance stands"
        raise NotSupported(got=routine, wanted=f"an environment that keeps {what}")

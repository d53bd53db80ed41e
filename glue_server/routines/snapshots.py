"""The routines that get and set states and random seeds of the environment."""

from __future__ import annotations

import numpy as np

from glue_server.routines.arguments import check_slot
from glue_server.routines.slots import JoinedSlots
from glue_server.routines.snapshot_keys import SEED, STATE
from reglue.errors import NotSupported
from reglue.messages.agent_messages import RoutineDone
from reglue.messages.environment_messages import (
    GetRandomSeed,
    GetState,
    SetRandomSeed,
    SetState,
    Snapshot,
)
from reglue.messages.experiment_messages import RLSetRandomSeed, RLSetState, SnapshotKey


def get_state(joined: JoinedSlots, call: GetState) -> SnapshotKey:
    """RL_get_state."""
    _check(joined, "RL_get_state", call.slot, able=joined.ready.restores)
    joined.check_live("RL_get_state", np.array([call.slot]))
    return SnapshotKey(joined.keys.keep(STATE, joined.ask(call, Snapshot).snapshot))


def set_state(joined: JoinedSlots, call: RLSetState) -> RoutineDone:
    """RL_set_state: afterwards the slot's environment is in mid-episode."""
    _check(joined, "RL_set_state", call.slot, able=joined.ready.restores)
    joined.ask(SetState(call.slot, joined.keys.snapshot(STATE, call.key)), RoutineDone)
    joined.live[call.slot] = True
    joined.is_cut_off[call.slot] = False
    return RoutineDone()


def get_random_seed(joined: JoinedSlots, call: GetRandomSeed) -> SnapshotKey:
    """RL_get_random_seed."""
    _check(joined, "RL_get_random_seed", call.slot, able=joined.ready.seeds)
    joined.check_live("RL_get_random_seed", np.array([call.slot]))
    return SnapshotKey(joined.keys.keep(SEED, joined.ask(call, Snapshot).snapshot))


def set_random_seed(joined: JoinedSlots, call: RLSetRandomSeed) -> RoutineDone:
    """RL_set_random_seed."""
    _check(joined, "RL_set_random_seed", call.slot, able=joined.ready.seeds)
    joined.check_live("RL_set_random_seed", np.array([call.slot]))
    joined.ask(SetRandomSeed(call.slot, joined.keys.snapshot(SEED, call.key)), RoutineDone)
    return RoutineDone()


def _check(joined: JoinedSlots, routine: str, slot: int, *, able: bool) -> None:
    """Raise OutOfDomain for an unknown slot, NotSupported if the environment cannot do that."""
    check_slot(slot, joined.spec.slots)
    if not able:
        what = "its states" if routine.endswith("state") else "its random seeds"
        raise NotSupported(got=routine, wanted=f"an environment that keeps {what}")

"""A Play and what became of it, to and from their messages: what travels most."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from reglue.environments.world import Cell
from reglue.errors import BadReply, brief
from reglue.messages.agent import Phase
from reglue.messages.environment import Play, Played
from reglue.spec import TaskSpec
from reglue.v1 import environment_pb2 as pb
from reglue.wire.flags import decode_flags, encode_flags
from reglue.wire.session import told
from reglue.wire.tensors import REWARDS, decode_array, decode_arrays, encode_array, encode_arrays

_PHASES = {int(phase): phase for phase in Phase}


def encode_play(message: pb.Play, play: Play, spec: TaskSpec) -> None:
    """Write it into an empty message, in place: half the price of a constructor's."""
    message.SetInParent()
    if len(play.slots):
        message.step_slots.extend(play.slots.tolist())
        message.actions.extend(encode_arrays(spec.actions, play.actions))
    if play.starts:
        message.start_slots.extend(play.starts)
        message.cells.extend(map(_encode_cell, play.starts.values()))


def decode_play(message: pb.Play, spec: TaskSpec) -> Play:
    """Raises BadReply for one that no Play of this session can be."""
    count = len(message.step_slots) + len(message.start_slots)
    if count > spec.slots or len(message.cells) != len(message.start_slots):
        got = f"{count} slots and {len(message.cells)} cells"
        raise BadReply("WRONG_SIZE", got=got, wanted="each slot once, and a cell a start")
    step_slots, start_slots = message.step_slots[:], message.start_slots[:]
    slots = step_slots + start_slots
    if len(set(slots)) != count:
        raise BadReply("WRONG_SIZE", got=f"slots {brief(slots)}", wanted="each once")
    if slots and (most := max(slots)) >= spec.slots:
        raise BadReply("OUT_OF_DOMAIN", got=f"slot {most}", wanted=f"0 to {spec.slots - 1}")
    steps = len(step_slots)
    return Play(
        slots=np.array(step_slots, np.uint32),
        actions=decode_arrays(spec.actions, message.actions, steps) if steps else {},
        starts=dict(zip(start_slots, map(_decode_cell, message.cells), strict=True)),
    )


def encode_played(message: pb.Played, played: Played, spec: TaskSpec) -> None:
    """Write it into an empty message, in place."""
    rows = len(next(iter(played.observations.values())))
    message.SetInParent()
    message.rewards = encode_array(REWARDS, played.rewards)
    message.observations.extend(encode_arrays(spec.observations, played.observations))
    flags = encode_flags(played.terminated, played.truncated, played.success)
    message.flags = flags.ljust(rows, b"\0")
    for slot, what in played.faults.items():
        message.faults.add(slot=slot, what=what)


def decode_played(message: pb.Played, play: Play, spec: TaskSpec) -> Played:
    """The answer to `play`. Raises BadReply for what is none."""
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    if len(message.faults) > rows:
        got = f"{len(message.faults)} faults"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"at most {rows}, one a slot")
    faults = {fault.slot: told(fault.what) for fault in message.faults}
    if not {*play.slots.tolist(), *play.starts}.issuperset(faults):
        raise BadReply(
            "OUT_OF_DOMAIN", got=f"faults of slots {brief([*faults])}", wanted="slots asked"
        )
    terminated, truncated, success = decode_flags(_flags(message.flags, steps, rows))
    return Played(
        rewards=_rewards(message.rewards, play, faults),
        observations=decode_arrays(spec.observations, message.observations, rows),
        terminated=terminated,
        truncated=truncated,
        success=success,
        faults=faults,
    )


def _flags(entry: bytes, steps: int, rows: int) -> bytes:
    """Of the steps; those of the starts are none."""
    if len(entry) != rows:
        got = f"{len(entry)} flags"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"{rows}: one for each step, then each start")
    if entry.count(0, steps) != rows - steps:
        got = "flags on a first observation"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="env_start never ends an episode")
    return entry[:steps]


def _rewards(entry: bytes, play: Play, faults: Mapping[int, str]) -> npt.NDArray[np.float64]:
    rewards = decode_array(REWARDS, entry, len(play.slots))
    finite = np.isfinite(rewards)
    if 0 in finite.tobytes() and not faults.keys() >= {*play.slots[~finite].tolist()}:
        raise BadReply(
            "NOT_FINITE", got=f"rewards {brief(rewards.tolist())}", wanted="finite numbers"
        )
    return rewards


def _encode_cell(cell: Cell) -> pb.Cell:
    return pb.Cell(
        task=cell.task,
        variant=cell.variant,
        seed=cell.seed,
        repeat=cell.repeat,
        phase=int(cell.phase),  # type: ignore[arg-type]
        steps=cell.steps,
    )


def _decode_cell(message: pb.Cell) -> Cell:
    if (phase := _PHASES.get(message.phase)) is None:
        raise BadReply("OUT_OF_DOMAIN", got=f"phase {message.phase}", wanted="one of protocol 1.0")
    return Cell(message.task, message.variant, message.seed, message.repeat, phase, message.steps)

"""A Turn to and from its message: what travels most, so nothing is done twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reglue.calls import (
    NO_ENDS,
    NO_STARTS,
    NO_STEPS,
    EndKind,
    Ends,
    Phase,
    Starts,
    StepFlag,
    Steps,
    Turn,
)
from reglue.errors import BadReply
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2 as pb
from reglue.wire.tensors import REWARD, decode_array, decode_arrays, encode_array, encode_arrays

_PHASES = {int(phase): phase for phase in Phase}
_END_KINDS = frozenset(map(int, EndKind))
_KNOWN_FLAGS = sum(StepFlag)  # later versions may have more: those are ignored


def encode_turn(message: pb.Turn, turn: Turn, spec: TaskSpec) -> None:
    """Write it into an empty message, in place: half the price of a constructor's."""
    message.phase = int(turn.phase)  # type: ignore[assignment]
    if turn.ends is not NO_ENDS:
        message.end_slots.extend(turn.ends.slots.tolist())
        message.end_kinds.extend(turn.ends.kinds.tolist())
    if turn.steps is not NO_STEPS:
        message.step_slots.extend(turn.steps.slots.tolist())
        message.step_flags.extend(turn.steps.flags.tolist())
    if turn.starts is not NO_STARTS:
        message.start_slots.extend(turn.starts.slots.tolist())
        message.start_seeds.extend(turn.starts.seeds.tolist())
    if not _withheld(turn.phase, spec):
        message.reward = encode_array(REWARD, turn.rewards)
    message.observation.extend(encode_arrays(spec.observations, turn.observations))


def decode_turn(message: pb.Turn, spec: TaskSpec) -> Turn:
    """Raises BadReply for one that no turn of this session can be."""
    if (phase := _PHASES.get(message.phase)) is None:
        raise _unknown("phase", message.phase)
    # Each list is taken out once: to look into the message costs more than all the rest.
    end_slots, end_kinds = message.end_slots[:], message.end_kinds[:]
    step_slots, step_flags = message.step_slots[:], message.step_flags[:]
    start_slots, start_seeds = message.start_slots[:], message.start_seeds[:]
    counts = (len(end_kinds), len(step_flags), len(start_seeds))
    if counts != (len(end_slots), len(step_slots), len(start_slots)):
        raise BadReply("WRONG_SIZE", got=f"a turn with {counts} entries", wanted="one a slot")
    if not _END_KINDS.issuperset(end_kinds):
        raise _unknown("end kinds", end_kinds)
    slots = [*end_slots, *step_slots, *start_slots]
    if slots and (most := max(slots)) >= spec.slots:
        raise BadReply("OUT_OF_DOMAIN", got=f"slot {most}", wanted=f"0 to {spec.slots - 1}")
    return Turn(
        phase=phase,
        ends=Ends(_slots(end_slots), np.array(end_kinds, np.uint8)) if end_slots else NO_ENDS,
        steps=Steps(_slots(step_slots), _flags(step_flags)) if step_slots else NO_STEPS,
        starts=Starts(_slots(start_slots), np.array(start_seeds, np.uint64))
        if start_slots
        else NO_STARTS,
        rewards=_rewards(message.reward, len(end_slots) + len(step_slots), phase, spec),
        observations=decode_arrays(spec.observations, message.observation, len(slots)),
    )


def _slots(slots: list[int]) -> npt.NDArray[np.uint32]:
    return np.array(slots, np.uint32)


def _flags(flags: list[int]) -> npt.NDArray[np.uint8]:
    return np.array([each & _KNOWN_FLAGS for each in flags], np.uint8)


def _rewards(entry: bytes, rows: int, phase: Phase, spec: TaskSpec) -> npt.NDArray[np.float64]:
    """One a row; NaN where they are withheld."""
    withheld = _withheld(phase, spec)
    wanted = 0 if withheld else 8 * rows
    if len(entry) != wanted:
        raise BadReply("WRONG_SIZE", got=f"{len(entry)} bytes of rewards", wanted=f"{wanted}")
    return np.full(rows, np.nan) if withheld else decode_array(REWARD, entry)


def _withheld(phase: Phase, spec: TaskSpec) -> bool:
    return phase is Phase.EVALUATE and not spec.rewards_in_evaluation


def _unknown(what: str, got: object) -> BadReply:
    return BadReply("OUT_OF_DOMAIN", got=f"{what} {got}", wanted="what protocol 1.0 knows")

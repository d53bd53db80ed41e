"""A Turn to and from its message: what travels most, so nothing is done twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from reglue.errors import BadReply
from reglue.messages.agent import (
    NO_ENDS,
    NO_STARTS,
    NO_STEPS,
    ActionFlag,
    EndKind,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2 as pb
from reglue.wire.tensors import REWARDS, decode_array, decode_arrays, encode_array, encode_arrays

_PHASES = {int(phase): phase for phase in Phase}
_END_KINDS = frozenset(map(int, EndKind))
_KNOWN_FLAGS = sum(ActionFlag)  # later versions may have more: those are ignored
_REMEMBERED = 16  # a few sets of slots, each for its flags


def encode_turn(message: pb.Turn, turn: Turn, spec: TaskSpec) -> None:
    """Write it into an empty message, in place: half the price of a constructor's."""
    slots, flags = turn.steps.slots.tolist(), turn.steps.flags.tolist()
    message.MergeFromString(_steps_alone(int(turn.phase), tuple(slots), tuple(flags)))
    if turn.ends is not NO_ENDS:
        message.end_slots.extend(turn.ends.slots.tolist())
        message.end_kinds.extend(turn.ends.kinds.tolist())
    if turn.starts is not NO_STARTS:
        message.start_slots.extend(turn.starts.slots.tolist())
        message.start_seeds.extend(turn.starts.seeds.tolist())
    if not _withheld(turn.phase, spec):
        message.rewards = encode_array(REWARDS, turn.rewards)
    message.observations.extend(encode_arrays(spec.observations, turn.observations))


def decode_turn(message: pb.Turn, spec: TaskSpec) -> Turn:
    """Raises BadReply for one that no turn of this session can be."""
    if (phase := _PHASES.get(message.phase)) is None:
        raise _unknown("phase", message.phase)
    # Each list is taken out once: to look into the message costs more than all the rest.
    end_slots, end_kinds = _pair(message.end_slots, message.end_kinds, spec)
    step_slots, step_flags = _pair(message.step_slots, message.step_flags, spec)
    start_slots, start_seeds = _pair(message.start_slots, message.start_seeds, spec)
    if not _END_KINDS.issuperset(end_kinds):
        raise _unknown("end kinds", end_kinds)
    slots = [*end_slots, *step_slots, *start_slots]
    if slots and (most := max(slots)) >= spec.slots:
        raise BadReply("OUT_OF_DOMAIN", got=f"slot {most}", wanted=f"0 to {spec.slots - 1}")
    return Turn(
        phase=phase,
        ends=Ends(_slots(end_slots), np.array(end_kinds, np.uint8)) if end_slots else NO_ENDS,
        steps=_steps(tuple(step_slots), tuple(step_flags)) if step_slots else NO_STEPS,
        starts=Starts(_slots(start_slots), np.array(start_seeds, np.uint64))
        if start_slots
        else NO_STARTS,
        rewards=_rewards(message.rewards, len(end_slots) + len(step_slots), phase, spec),
        observations=decode_arrays(spec.observations, message.observations, len(slots)),
    )


def _pair(
    slots: Sequence[int], entries: Sequence[int], spec: TaskSpec
) -> tuple[Sequence[int], Sequence[int]]:
    """Copies of both, which are counted first."""
    count = len(slots)
    if count > spec.slots:
        raise BadReply("WRONG_SIZE", got=f"{count} slots", wanted=f"at most {spec.slots}")
    if len(entries) != count:
        got = f"a turn with {len(entries)} entries for {count} slots"
        raise BadReply("WRONG_SIZE", got=got, wanted="one a slot")
    return slots[:], entries[:]


@lru_cache(_REMEMBERED)
def _steps_alone(phase: int, slots: tuple[int, ...], flags: tuple[int, ...]) -> bytes:
    """What turn after turn says alike: to read it is the quickest way to say it again."""
    message = pb.Turn(phase=phase, step_slots=slots, step_flags=flags)  # type: ignore[arg-type]
    return message.SerializeToString()


@lru_cache(_REMEMBERED)
def _steps(slots: tuple[int, ...], flags: tuple[int, ...]) -> Steps:
    """Turn after turn has the same ones; nobody can write to them."""
    steps = Steps(_slots(slots), np.array([each & _KNOWN_FLAGS for each in flags], np.uint8))
    steps.slots.setflags(write=False)
    steps.flags.setflags(write=False)
    return steps


def _slots(slots: Sequence[int]) -> npt.NDArray[np.uint32]:
    return np.array(slots, np.uint32)


def _rewards(entry: bytes, rows: int, phase: Phase, spec: TaskSpec) -> npt.NDArray[np.float64]:
    """One a row; NaN where they are withheld."""
    if not _withheld(phase, spec):
        return decode_array(REWARDS, entry, rows)
    if entry:
        raise BadReply("WRONG_SIZE", got=f"{len(entry)} bytes of 'rewards'", wanted="0")
    return np.full(rows, np.nan)


def _withheld(phase: Phase, spec: TaskSpec) -> bool:
    return phase is Phase.EVALUATE and not spec.rewards_in_evaluation


def _unknown(what: str, got: object) -> BadReply:
    return BadReply("OUT_OF_DOMAIN", got=f"{what} {got}", wanted="what protocol 1.0 knows")

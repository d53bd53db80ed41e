"""An agent's answer to a turn: whether its actions are legal, row by row."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.action_masks import Allowed, action_mask
from reglue.error_message import brief
from reglue.errors import AgentAbandoned, AgentFault, BadAgentReply, BadReply
from reglue.messages.agent_messages import Turn
from reglue.messages.environment_messages import Slots
from reglue.messages.value import value
from reglue.spec import (
    Array,
    Arrays,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)


@value
class Checked:
    """Actions that fit the spec in size, and which rows are legal."""

    arrays: Mapping[str, Array]  # in the spec's order: name -> (rows, *shape), contiguous
    clipped: npt.NDArray[np.bool_]  # (rows,), an element lay out of its Box
    refused: Mapping[int, BadReply] = field(default_factory=dict)  # by row
    defaulted: bool = False  # the agent chose none of them

    @property
    def packed(self) -> npt.NDArray[np.uint8]:
        """(rows, bytes of a row): little-endian, a row's tensors in the spec's order."""
        return packed(self.arrays.values())


NOBODY: frozenset[int] = frozenset()


@value
class Answer:
    """An agent's answer to a turn: an action for each slot but those of `faults` and `held`."""

    slots: Slots  # that wanted an action, ascending within steps and within starts, (n,)
    checked: Checked | None  # their actions, (n, …); None if no row can be played
    faults: Mapping[int, AgentFault] = field(default_factory=dict)  # by slot
    refused: BadAgentReply | None = None  # why its answer was refused, which is sent to the agent
    held: frozenset[int] = NOBODY  # slots to ask again with the same rows


class ActionChecks:
    """Checks the actions of one TaskSpec."""

    def __init__(self, spec: TaskSpec, *, clips: bool = True) -> None:
        """`clips`: what lies outside of a Box is clipped; else it is wanted as it is."""
        self.spec = spec
        self.clips = clips
        self._checks = [_TensorCheck(tensor) for tensor in spec.actions]
        self._mask = action_mask(spec)

    def allowed(self, turn: Turn) -> Allowed | None:
        """Which actions a turn's masks allow, a row for each action that it asks for; None: all."""
        return (
            None if self._mask is None else self._mask.allowed(turn.observations)[len(turn.ends) :]
        )

    def check(self, arrays: Arrays, rows: int, allowed: Allowed | None = None) -> Checked:
        """Check `rows` actions in the spec's dtypes; `allowed`, (rows, n): by masks, see `allowed`.

        Raises BadReply if they are not that many of that shape.
        """
        shaped: dict[str, Array] = {}
        clipped = np.zeros(rows, np.bool_)
        refused: dict[int, BadReply] = {}
        for check in self._checks:
            values = shaped[check.tensor.name] = check.shaped(arrays, rows)
            if not check.all_within(values):
                flat = values.reshape(rows, check.tensor.size)
                for row, reply in _illegal(check.tensor, flat).items():
                    refused.setdefault(row, reply)
                if isinstance(check.tensor.domain, Box):
                    clipped |= _outside(check.tensor, flat)
                    if self.clips:
                        shaped[check.tensor.name] = check.tensor.clipped(values)
        if allowed is not None:
            for row, reply in self._forbidden(allowed, shaped).items():
                refused.setdefault(row, reply)
        return Checked(shaped, clipped, refused)

    def default(self, rows: int, allowed: Allowed | None = None) -> Checked:
        """The default actions of `rows` slots whose agent is late: see `default_action`. With masks
        the least action that a row of `allowed` allows.
        """
        arrays = {
            each.name: np.repeat(default_action(each)[None], rows, axis=0)
            for each in self.spec.actions
        }
        if allowed is not None and self._mask is not None:
            arrays = {self._mask.action.name: self._mask.first(allowed)}
        return Checked(arrays, np.zeros(rows, np.bool_), defaulted=True)

    def _forbidden(self, allowed: Allowed, shaped: Arrays) -> dict[int, BadReply]:
        """The rows whose action a mask forbids."""
        assert self._mask is not None, "it made `allowed`"
        return {
            row: BadReply("OUT_OF_DOMAIN", got=got, wanted=wanted)
            for row, (got, wanted) in self._mask.mistakes(allowed, shaped).items()
        }


def default_action(tensor: TensorSpec) -> Array:
    """A legal row: of a box what lies nearest to zero, of anything else its least values.

    If the dtype holds no legal value, what it holds nearest to one.
    """
    zero: Array = np.zeros(tensor.shape, tensor.numpy_dtype)
    match tensor.domain:
        case Box():
            return np.asarray(tensor.clipped(zero))
        case Discrete(_, start):
            limits = np.iinfo(tensor.dtype)
            zero[...] = min(max(start, int(limits.min)), int(limits.max))
            return zero
        case MultiDiscrete() | MultiBinary():
            return zero


def packed(tensors: Iterable[Array]) -> npt.NDArray[np.uint8]:
    """(rows, bytes of a row): little-endian, a row's tensors one after another.

    A single tensor's bytes may be a view.
    """
    parts = [_bytes(rows) for rows in tensors]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def unpacked(rows: bytes, tensors: Sequence[TensorSpec]) -> dict[str, Array]:
    """The inverse of `packed`: name -> (rows, *shape), in the tensors' dtypes; may be read-only.

    Raises ValueError unless it is whole rows.
    """
    row_bytes = sum(tensor.row_bytes for tensor in tensors)
    table = np.frombuffer(rows, np.uint8).reshape(-1, row_bytes)
    arrays, place = {}, 0
    for tensor in tensors:
        part = np.ascontiguousarray(table[:, place : place + tensor.row_bytes])
        flat = part.reshape(-1).view(tensor.wire_dtype).astype(tensor.numpy_dtype, copy=False)
        arrays[tensor.name] = flat.reshape(-1, *tensor.shape)
        place += tensor.row_bytes
    return arrays


def partial_answer(
    asked: Slots, checked: Checked, abandoned: Collection[int], held: frozenset[int]
) -> Answer:
    """An answer of which some rows are not played. One refusal says enough."""
    faults: dict[int, AgentFault] = {}
    first: BadAgentReply | None = None
    for row, slot in enumerate(asked.tolist()):
        refused = checked.refused.get(row)
        if slot in abandoned:
            faults[slot] = AgentAbandoned("the agent gave it up")
        elif refused is not None and slot not in held:
            faults[slot] = BadAgentReply.of(refused)
            got = f"{refused.got} in slot {slot}"
            first = first or BadAgentReply(refused.code, got=got, wanted=refused.wanted)
    return Answer(asked, checked, faults, first, held)


def given_up(abandon: Sequence[int], slots: Slots) -> frozenset[int]:
    """The slots whose episode the agent gives up. Raises BadReply unless all are in `slots`."""
    return _named("abandon", abandon, slots) if abandon else NOBODY


def held(hold: Sequence[int], slots: Slots, abandoned: frozenset[int]) -> frozenset[int]:
    """The slots in which the agent does not act yet.

    Raises BadReply unless they are in `slots`, not abandoned, and leave one that is not held.
    """
    if not hold:
        return NOBODY
    named = _named("hold", hold, slots)
    if both := named & abandoned:
        raise BadReply(
            "OUT_OF_DOMAIN", got=f"slots {brief(sorted(both))} held and abandoned", wanted="either"
        )
    if len(named) == len(slots):
        raise BadReply(
            "OUT_OF_DOMAIN", got="all slots of the turn held", wanted="an action for one or more"
        )
    return named


def _named(what: str, named: Sequence[int], slots: Slots) -> frozenset[int]:
    found = frozenset(named) if len(named) <= len(slots) else None
    if found is None or not found.issubset(slots.tolist()):
        raise BadReply(
            "OUT_OF_DOMAIN",
            got=f"{what} {brief(tuple(named))}",
            wanted=f"slots of this turn that want an action: {brief(slots.tolist())}",
        )
    return found


class _TensorCheck:
    """A tensor's bounds: what lies within them is legal and not clipped."""

    def __init__(self, tensor: TensorSpec) -> None:
        self.tensor = tensor
        self._dtype = np.dtype(tensor.dtype)
        self._size = tensor.size
        self._compared = np.dtype(np.uint8) if self._dtype.kind == "b" else self._dtype
        self._within = _within(tensor)

    def shaped(self, arrays: Arrays, rows: int) -> Array:
        """(rows, *shape), contiguous, in the spec's dtype. Raises BadReply."""
        tensor, values = self.tensor, arrays[self.tensor.name]
        if values.size != rows * self._size:
            raise BadReply(
                "WRONG_SIZE",
                got=f"{tensor.name!r} of shape {values.shape}",
                wanted=f"shape {(rows, *tensor.shape)}, {tensor.dtype}: one row for each slot",
            )
        values = np.ascontiguousarray(values, self._dtype)
        shape = (rows, *tensor.shape)
        return values if values.shape == shape else values.reshape(shape)

    def all_within(self, values: Array) -> bool:
        """Whether all values are legal and unclipped, by a few comparisons over all rows."""
        if self._within is None:
            return False
        low, high = self._within
        seen = values.view(self._compared)
        within: Array = (seen >= low) & (seen <= high)
        return 0 not in within.tobytes()


def _bytes(values: Array) -> npt.NDArray[np.uint8]:
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return little.reshape(len(values), math.prod(values.shape[1:])).view(np.uint8)


def _within(tensor: TensorSpec) -> tuple[Array, Array] | None:
    """Inclusive bounds of a row, or None if bounds cannot say what is legal."""
    dtype = np.dtype(tensor.dtype)
    match tensor.domain:
        case Box() if dtype.kind == "f":
            # Finite ones: what lies within is a finite number.
            low, high = tensor.bounds()
            limits = np.finfo(dtype)
            return np.maximum(low, limits.min), np.minimum(high, limits.max)
        case Box() if dtype.kind == "b":
            return np.maximum(tensor.low(), 0), np.minimum(tensor.high(), 1)
        case Box():
            return tensor.low(), tensor.high()
        case Discrete(n, start):
            return _integer_bounds(dtype, start, [start + n - 1])
        case MultiDiscrete(n):
            return _integer_bounds(dtype, 0, [each - 1 for each in n], tensor.shape)
        case MultiBinary() if dtype.kind in "bui":
            return np.zeros((), np.uint8), np.ones((), np.uint8)
        case _:
            return None


def _integer_bounds(
    dtype: np.dtype[Any], least: int, most: list[int], shape: tuple[int, ...] = ()
) -> tuple[Array, Array] | None:
    """Bounds in the tensor's dtype, or None if it does not hold all that is legal."""
    limits = np.iinfo(dtype.name)  # TensorSpec checks that it is an integer type
    if least < limits.min or max(most, default=0) > limits.max:
        return None
    return np.array(least, dtype), np.array(most, dtype).reshape(shape)


def _illegal(tensor: TensorSpec, flat: Array) -> dict[int, BadReply]:
    """Rows that no environment should be given."""
    if flat.dtype.kind == "f" and not isinstance(tensor.domain, MultiBinary):
        code, wanted = "NOT_FINITE", "finite numbers"
        legal = np.isfinite(flat)
    else:
        code, wanted = "OUT_OF_DOMAIN", str(tensor.domain)
        legal = _in_domain(tensor, flat)
    return {
        int(row): BadReply(code, got=f"{tensor.name!r} = {flat[row].tolist()}", wanted=wanted)
        for row in np.flatnonzero(~legal.all(axis=1))
    }


def _in_domain(tensor: TensorSpec, flat: Array) -> npt.NDArray[np.bool_]:
    if flat.dtype.kind == "b":
        flat = flat.view(np.uint8)  # an agent's byte may be neither 0 nor 1
    match tensor.domain:
        case Discrete(n, start):
            return np.asarray((flat >= start) & (flat < start + n))
        case MultiDiscrete(n):
            return np.asarray((flat >= 0) & (flat < np.array(n, np.uint64)))
        case MultiBinary():
            return np.asarray((flat == 0) | (flat == 1))
        case Box() if tensor.dtype == "bool":
            return np.asarray(flat <= 1)
        case Box():
            return np.ones(flat.shape, np.bool_)


def _outside(tensor: TensorSpec, flat: Array) -> npt.NDArray[np.bool_]:
    low, high = tensor.bounds()
    return np.asarray(((flat < low.ravel()) | (flat > high.ravel())).any(axis=1))

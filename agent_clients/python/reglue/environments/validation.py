"""Checks an environment's answers against its TaskSpec: names, shapes, dtypes and domains.

Raises NotAnEnvironment for an answer that does not fit; its message says what it got and wanted.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.environments.world import Step
from reglue.error_message import brief
from reglue.errors import BadArgument, NotAnEnvironment
from reglue.spec import Array, Arrays, Box, TaskSpec, TensorSpec, same_numbers
from reglue.texts import text_row

log = logging.getLogger("reglue")

_Numbers: TypeAlias = Sequence[int] | npt.NDArray[np.uint32]

_MOST_WORDS = 80  # characters of an array in a message
_MASKED = "a masked array, whose masked elements are no numbers"


def conforming_spec(spec: object) -> TaskSpec:
    """`spec`, if it is a TaskSpec."""
    if not isinstance(spec, TaskSpec):
        raise NotAnEnvironment("the environment's spec", got=repr(spec), wanted="a reglue.TaskSpec")
    return spec


def conforming_step(step: object) -> Step:
    """Check one world's step: its reward is finite. The observation is checked elsewhere."""
    if not isinstance(step, Step):
        raise NotAnEnvironment(
            f"step() returned {step!r}, wanted "
            "reglue.Step(reward, observation, terminated, truncated, success)"
        )
    if (
        type(step.reward) is float
        and math.isfinite(step.reward)
        and type(step.terminated) is type(step.truncated) is type(step.success) is bool
    ):  # the common case, in one check
        return step
    return Step(
        reward=conforming_reward(step.reward),
        observation=step.observation,
        terminated=conforming_flag("terminated", step.terminated),
        truncated=conforming_flag("truncated", step.truncated),
        success=conforming_flag("success", step.success),
    )


def conforming_reward(reward: object) -> float:
    """The reward as a float; an array of one number is one."""
    if isinstance(reward, float):  # also NumPy's
        number = float(reward)
    else:
        number = _one_number("reward", reward, "one number")
    if not math.isfinite(number):
        raise NotAnEnvironment("reward", got=brief(reward), wanted="a finite number")
    return number


def conforming_flag(what: str, flag: object) -> bool:
    """True or False, or 1 or 0; an array of one of them is one."""
    if type(flag) is bool:
        return flag
    wanted = "True or False, or 1 or 0"
    number = _one_number(what, flag, wanted)
    if number not in (0, 1):
        raise NotAnEnvironment(what, got=brief(flag), wanted=wanted)
    return number == 1


def _one_number(what: str, value: object, wanted: str) -> float:
    if type(value) is int and abs(value) < 2**63:
        return float(value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # of no array, such as rows of different lengths
        array = np.array(None)
    if _is_masked(value):
        got = _MASKED
    elif array.dtype.kind not in "biuf":
        got = brief(value)
    elif array.size != 1:
        got = f"an array of shape {array.shape}"
    else:
        return float(array.item())
    raise NotAnEnvironment(what, got=got, wanted=wanted)


def conforming_observation(
    observation: object, spec: TaskSpec, rows: tuple[int, ...]
) -> dict[str, Array]:
    """Copies, name -> (*rows, *shape), without names that the spec lacks."""
    named = conforming_names(observation, spec)
    return {
        tensor.name: np.array(conforming_rows(named, tensor, rows)) for tensor in spec.observations
    }


def conforming_names(observation: object, spec: TaskSpec) -> Mapping[str, Any]:
    """`observation`, if it is a dict with all names of the spec."""
    if not isinstance(observation, Mapping):
        wanted = f"a dict of named arrays: {[tensor.name for tensor in spec.observations]}"
        raise NotAnEnvironment("observation", got=repr(observation), wanted=wanted)
    for tensor in spec.observations:
        if tensor.name not in observation:
            raise NotAnEnvironment(
                "observation",
                got=f"names {sorted(map(str, observation))}",
                wanted=repr(tensor.name),
            )
    return observation


def conforming_row(observation: object, tensor: TensorSpec, spec: TaskSpec) -> Array:
    """One tensor of one world's observation, `shape`; may be the world's own array."""
    if type(observation) is dict:  # the common case, in one check
        value = observation.get(tensor.name)
        if (
            type(value) is np.ndarray
            and value.dtype == tensor.numpy_dtype
            and value.shape == tensor.shape
        ):
            return value
    return conforming_rows(conforming_names(observation, spec), tensor)


def conforming_rows(
    named: Mapping[str, Any], tensor: TensorSpec, rows: tuple[int, ...] = ()
) -> Array:
    """One tensor of an observation, (*rows, *shape); may be the environment's own array."""
    what, shape = f"observation {tensor.name!r}", (*rows, *tensor.shape)
    value = conforming_array(what, _encoded(what, named[tensor.name], tensor), tensor.numpy_dtype)
    if value.shape != shape:
        raise NotAnEnvironment(what, got=f"shape {value.shape}", wanted=shape)
    return value


def _encoded(what: str, value: Any, tensor: TensorSpec) -> Any:
    """A text, or a sequence of them, as rows of a tensor of bytes; anything else as it is."""
    is_one = isinstance(value, str)
    texts = [value] if is_one else value
    if not (isinstance(texts, list | tuple) and texts and isinstance(texts[0], str)):
        return value
    if tensor.dtype != "uint8" or len(tensor.shape) != 1 or {*map(type, texts)} != {str}:
        return value
    try:
        rows = [text_row(text, tensor.size) for text in texts]
    except BadArgument as error:
        raise NotAnEnvironment(what, got=error.got, wanted=error.wanted) from None
    return rows[0] if is_one else np.stack(rows)


def conforming_array(what: str, value: Any, dtype: np.dtype[Any], *, copy: bool = False) -> Array:
    """`value` in `dtype`, which no integer may change; `copy`: never `value`'s own memory.

    Floats may be rounded, but not to infinity; integers that a float `dtype` rounds are logged.
    """
    if type(value) is np.ndarray and value.dtype == dtype:  # the common case, in one check
        return value.copy() if copy else value
    try:
        array = np.array(value, copy=copy or None)
    except ValueError:  # rows of different lengths
        raise NotAnEnvironment(what, got=repr(value), wanted=f"an array of {dtype}") from None
    if _is_masked(value):
        raise NotAnEnvironment(what, got=_MASKED, wanted=f"an array of {dtype}")
    is_float = array.dtype.kind == "f" == dtype.kind
    cast = _rounded(array, dtype) if is_float else same_numbers(array, dtype)
    if cast is not None:
        if array.dtype.kind in "iu" and dtype.kind == "f" and not np.array_equal(cast, array):
            _say_rounded(what, array.dtype, dtype)
        return cast
    got = " ".join(str(array).split())  # in one line
    got = got if len(got) <= _MOST_WORDS else f"{got[:_MOST_WORDS]} …"
    raise NotAnEnvironment(
        what, got=f"{got} of dtype {array.dtype}", wanted=f"numbers that are the same in {dtype}"
    )


def _is_masked(value: object) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _rounded(array: Array, dtype: np.dtype[Any]) -> Array | None:
    """Floats in another dtype of floats; None if a finite one is infinite there."""
    if array.itemsize <= dtype.itemsize:
        return array.astype(dtype, copy=False)
    try:
        with np.errstate(over="raise"):  # costs no look at the numbers
            return array.astype(dtype, copy=False)
    except FloatingPointError:
        return None


@lru_cache(maxsize=100)
def _say_rounded(what: str, got: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    """Log it once."""
    log.warning("%s: integers of %s change in %s, its dtype, and are passed on", what, got, wanted)


def say_unknown_names(observation: object, known: Container[str]) -> None:
    """Log the names of an observation that its spec or space lacks: no agent sees them."""
    if isinstance(observation, Mapping):
        unknown = [name for name in observation if name not in known]
        if unknown:
            _say_unknown(brief(unknown))


@lru_cache(maxsize=100)
def _say_unknown(names: str) -> None:
    """Log it once."""
    log.warning("observations hold %s, which are not declared: agents do not see them", names)


class DomainCheck:
    """Checks batches of observations against the domains of their tensors.

    A number that a Discrete, MultiDiscrete or MultiBinary lacks is a mistake. Observations with
    numbers outside a Box, or NaN, are passed on and counted; the 1st, 10th, 100th, … are logged.
    """

    def __init__(self, spec: TaskSpec, nullable: Container[str] = ()) -> None:
        """`nullable`: tensors of floats whose NaN is a missing value, which is not counted."""
        self.spec = spec
        self._nullable = nullable
        self.outside: Counter[str] = Counter()  # tensor -> observations outside its Box
        self.outside_last = 0  # of them in the last batch, over all tensors
        self._limits = [
            (tensor, _repeated(tensor, spec.slots))
            for tensor in spec.observations
            if tensor.limits is not None
        ]

    def mistakes(
        self,
        observations: Arrays,
        slots: _Numbers,
        failed: Container[int] = (),
        *,
        rows: Sequence[int] | None = None,
    ) -> dict[int, str]:
        """The mistakes by slot.

        Args:
            observations: Arrays, (rows, *shape); a row for each slot, or more with `rows`.
            slots: The slots of the rows.
            failed: Slots whose rows are not checked.
            rows: The rows to look at, if the arrays have others too.
        """
        by_slot: dict[int, str] = {}
        self.outside_last = 0
        for tensor, (low, high) in self._limits:
            seen = observations[tensor.name]
            if rows is not None:
                seen = seen.take(rows, 0)
            if len(low) > (count := len(seen)):
                low, high = low[:count], high[:count]  # noqa: PLW2901 - no call, as each turn asks
            if tensor.name in self._nullable:
                seen = np.where(np.isnan(seen), low, seen)
            if seen.size <= _FEW_TO_CLIP:  # NaN differs from what fmin and fmax make of it
                is_inside = np.fmin(np.fmax(seen, low), high).tobytes() == seen.tobytes()
            else:
                is_inside = b"\0" not in ((seen >= low) & (seen <= high)).tobytes()
            if not is_inside:
                self._look(tensor, seen, slots, failed, by_slot)
        return by_slot

    def _look(
        self,
        tensor: TensorSpec,
        rows: Array,
        slots: _Numbers,
        failed: Container[int],
        by_slot: dict[int, str],
    ) -> None:
        assert tensor.limits is not None, "nothing is outside"
        within = (rows >= tensor.limits[0]) & (rows <= tensor.limits[1])
        for row in np.flatnonzero(~within.reshape(len(rows), -1).all(axis=1)).tolist():
            if (slot := int(slots[row])) in failed:
                continue
            if not isinstance(tensor.domain, Box):
                by_slot.setdefault(slot, _outside(tensor, rows[row], within[row]))
                continue
            self.outside_last += 1
            self.outside[tensor.name] += 1
            count = self.outside[tensor.name]
            if count == 10 ** (len(str(count)) - 1):
                what = _outside(tensor, rows[row], within[row])
                log.warning("%s, and passed it on; so far %d of these", what, count)


_FEW_TO_CLIP = 1024  # numbers; up to as many, clipping them takes less time than comparing them
_FEW = 2**16  # numbers; up to as many, comparing arrays of equal shape is quicker than broadcasting


def _repeated(tensor: TensorSpec, rows: int) -> tuple[Array, Array]:
    """A tensor's limits, repeated for `rows` rows, or broadcast if these would be large."""
    assert tensor.limits is not None, "nothing is outside"
    shape = (rows if rows * tensor.size <= _FEW else 1, *tensor.shape)
    low, high = (np.broadcast_to(end, shape) for end in tensor.limits)
    return (low.copy(), high.copy()) if shape[0] == rows else (low, high)


def _outside(tensor: TensorSpec, row: Array, within: Array) -> str:
    """The first number that the tensor's domain lacks, and the limits there."""
    assert tensor.limits is not None, "nothing is outside"
    place = tuple(np.argwhere(~within)[0].tolist())
    low, high = (np.broadcast_to(end, tensor.shape)[place] for end in tensor.limits)
    element = f"[{', '.join(map(str, place))}]" if place else ""
    return f"observation {tensor.name!r}{element}: got {row[place]}, wanted {low} to {high}"

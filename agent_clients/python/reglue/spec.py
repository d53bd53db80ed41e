"""A task's observations and actions: TaskSpec, TensorSpec and their domains.

Pure values over NumPy; the wire form is `proto/reglue/v1/spec.proto`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.error_message import brief
from reglue.errors import SpecError

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]

MOST_NAME = 200
"""Characters of a tensor's name."""

MOST_TENSORS = 1024
"""The most observations of a spec, and the most actions."""

MOST_AXES = 63
"""The most axes of one row of a tensor: NumPy's 64, less the one of slots."""

MOST_ELEMENTS = 64 * 1024 * 1024
"""The most elements of a tensor's row: at a byte each, the size of a hub's largest message."""

MOST_EXTRA = 4096
"""Characters of a spec's free text."""

ACTION_TEXTS, OBSERVATION_TEXTS = "action_texts", "observation_texts"
"""The keys of a spec's `extra` for the tensors that are texts."""

DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64".split()


@dataclass(frozen=True, slots=True)
class Box:
    """Element-wise bounds, both inclusive, in the task's units.

    `low` and `high` hold no number (unbounded), one (for every element), or one
    for each element, row-major.
    """

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Discrete:
    """The integers `start` to `start + n - 1`."""

    n: int
    start: int = 0


@dataclass(frozen=True, slots=True)
class MultiDiscrete:
    """Element i takes 0 to `n[i] - 1`, row-major."""

    n: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MultiBinary:
    """Every element is 0 or 1."""


Domain: TypeAlias = Box | Discrete | MultiDiscrete | MultiBinary


@dataclass(frozen=True)
class TensorSpec:
    """One named array: its dtype, the shape of a row and the values it takes.

    Raises SpecError if they contradict each other.
    """

    name: str
    dtype: str  # one of DTYPES
    shape: tuple[int, ...] = ()  # of one row, without the axis of slots
    domain: Domain = Box()

    def __post_init__(self) -> None:
        check_row(self.name, self.shape)
        if self.dtype not in DTYPES:
            raise SpecError(self.name, got=f"dtype {self.dtype!r}", wanted=f"one of {DTYPES}")
        match self.domain:
            case Box(low, high):
                self._check_lengths("low", low, (0, 1, self.size))
                self._check_lengths("high", high, (0, 1, self.size))
                if np.any(np.isnan([*low, *high])) or _crossed(low, high):
                    raise SpecError(
                        f"{self.name}: low {brief(low)} is not below high {brief(high)}"
                    )
            case Discrete(n, _):
                if n < 1 or np.dtype(self.dtype).kind not in "ui":
                    raise SpecError(f"{self.name}: discrete needs n ≥ 1 and an integer dtype")
            case MultiDiscrete(n):
                self._check_lengths("n", n, (self.size,))
                if any(each < 1 for each in n) or np.dtype(self.dtype).kind not in "ui":
                    raise SpecError(f"{self.name}: multi_discrete needs n ≥ 1 and an integer dtype")
            case MultiBinary():
                pass

    @cached_property
    def size(self) -> int:
        """Elements in one row."""
        return math.prod(self.shape)

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row on the wire."""
        return self.size * self.numpy_dtype.itemsize

    @cached_property
    def numpy_dtype(self) -> np.dtype[Any]:
        """`dtype` in this machine's byte order."""
        return np.dtype(self.dtype)

    @cached_property
    def wire_dtype(self) -> np.dtype[Any]:
        """`dtype` in the wire's byte order, little-endian."""
        return self.numpy_dtype.newbyteorder("<")

    @cached_property
    def is_native(self) -> bool:
        """Whether the wire's byte order is this machine's."""
        return self.wire_dtype.isnative

    @cached_property
    def limits(self) -> tuple[Array, Array] | None:
        """The least and the greatest legal values in `dtype`, each of shape () or `shape`.

        None if all that the dtype holds is legal. NaN lies within no limits.
        """
        dtype = self.numpy_dtype
        first: Sequence[float]
        last: Sequence[float]
        match self.domain:
            case Box(low, high):
                first, last = low or (-math.inf,), high or (math.inf,)
            case Discrete(n, start):
                first, last = (start,), (start + n - 1,)
            case MultiDiscrete(n):
                first, last = (0,), [each - 1 for each in n]
            case MultiBinary():
                first, last = (0,), (1,)
        least = _in_dtype(first, dtype, self.shape, math.ceil)
        most = _in_dtype(last, dtype, self.shape, math.floor)
        if dtype.kind != "f" and (least == _least(dtype)).all() and (most == _most(dtype)).all():
            return None
        return least, most

    @property
    def plain(self) -> TensorSpec:
        """The tensor as agents know it: without what a subclass adds."""
        return self

    @property
    def legal_texts(self) -> Mapping[str, Any] | None:
        """Of a text, what a spec's `extra` says of it."""
        return None

    def low(self) -> npt.NDArray[np.float64]:
        """Lower bounds, shape `shape` (-inf for none)."""
        return self._bound(self.domain.low if isinstance(self.domain, Box) else (), -np.inf)

    def high(self) -> npt.NDArray[np.float64]:
        """Upper bounds, shape `shape` (inf for none)."""
        return self._bound(self.domain.high if isinstance(self.domain, Box) else (), np.inf)

    def bounds(self) -> tuple[Array, Array]:
        """`low` and `high`, in its dtype if that is a float: an agent plays a bound in it."""
        low, high = self.low(), self.high()
        if self.numpy_dtype.kind != "f":
            return low, high
        with np.errstate(over="ignore"):  # a bound beyond it is no bound
            return low.astype(self.numpy_dtype), high.astype(self.numpy_dtype)

    def clipped(self, values: Array) -> Array:
        """Values of its dtype, (…, *shape), clipped to its Box; as they are if it has none."""
        if not isinstance(self.domain, Box) or self.limits is None:
            return values
        clipped: Array = np.clip(values, *self.limits)
        return clipped

    def empty(self, rows: int) -> Array:
        """Zeros of shape `(rows, *shape)`."""
        return np.zeros((rows, *self.shape), self.numpy_dtype)

    def sample(self, rng: np.random.Generator) -> Array:
        """One value of the domain, shape `shape`: uniform if the domain is bounded. Elements of a
        Box without bounds are normal, those with one bound exponential from that bound. Source:
        Gymnasium's `Box.sample`.

        Examples:
            >>> import numpy as np
            >>> tensor = TensorSpec("action", "int64", (3,), Discrete(5))
            >>> tensor.sample(np.random.default_rng(0))
            array([4, 3, 2])
        """
        match self.domain:
            case Discrete(n, start):
                sampled = rng.integers(start, start + n, self.shape)
            case MultiDiscrete(n):
                sampled = rng.integers(0, np.reshape(n, self.shape))
            case MultiBinary():
                sampled = rng.integers(0, 2, self.shape)
            case Box():
                sampled = self._sample_box(rng)
        return np.asarray(sampled, self.numpy_dtype)

    def _sample_box(self, rng: np.random.Generator) -> Array:
        low, high = self.low(), self.high()
        is_integer = self.numpy_dtype.kind in "uib"
        top = high + 1 if is_integer else high  # both bounds belong to a Box
        below, above = np.isfinite(low), np.isfinite(high)
        bounded = rng.uniform(np.where(below & above, low, 0), np.where(below & above, top, 1))
        tail = rng.exponential(size=self.shape)
        free = np.where(
            below, low + tail, np.where(above, high - tail, rng.normal(size=self.shape))
        )
        sampled = np.where(below & above, bounded, free)
        return np.floor(sampled) if is_integer else sampled

    def _bound(self, values: Sequence[float], missing: float) -> npt.NDArray[np.float64]:
        if len(values) == self.size:
            return np.array(values, np.float64).reshape(self.shape)
        return np.full(self.shape, values[0] if values else missing)

    def _check_lengths(self, what: str, values: Sequence[float], legal: tuple[int, ...]) -> None:
        if not isinstance(values, (tuple, list)):
            wanted = "a tuple of numbers, such as (0,)"
            raise SpecError(self.name, got=f"{what} {brief(values)}", wanted=wanted)
        if len(values) not in legal:
            raise SpecError(f"{self.name}: {what} has {len(values)} entries, wanted one of {legal}")


def _in_dtype(
    values: Sequence[float],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    whole: Callable[[float], int],
) -> Array:
    """Bounds in `dtype`, those beyond it at its ends: of shape (), or of `shape`."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # a bound beyond it is no bound
            cast = np.array(values, np.float64).astype(dtype)
    else:
        least, most = _least(dtype), _most(dtype)
        cast = np.array([whole(min(max(each, least), most)) for each in values], dtype)
    return cast.reshape(() if len(values) == 1 else shape)


def _least(dtype: np.dtype[Any]) -> int:
    return 0 if dtype.kind == "b" else int(np.iinfo(dtype).min)


def _most(dtype: np.dtype[Any]) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def same_numbers(values: Array, dtype: np.dtype[Any]) -> Array | None:
    """`values` in `dtype`; None if that changes an integer, or if they are no numbers. Numbers may
    be rounded to a float `dtype`. Values that already have the dtype are not copied.
    """
    if values.dtype == dtype:
        return values
    if values.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        cast = values.astype(dtype)
    return cast if cast.dtype.kind == "f" or np.array_equal(cast, values) else None


def check_row(name: str, shape: Sequence[int]) -> None:
    """Raise SpecError for a row that is too large for any message, before memory is allocated."""
    if not name:
        raise SpecError(got="a tensor without a name", wanted="one such as 'observation'")
    if len(name) > MOST_NAME:
        raise SpecError(f"a tensor's name has {len(name)} characters, wanted at most {MOST_NAME}")
    if len(shape) > MOST_AXES:
        raise SpecError(name, got=f"shape of {len(shape)} axes", wanted=f"at most {MOST_AXES}")
    if any(size < 0 for size in shape):
        raise SpecError(name, got=f"shape {tuple(shape)}", wanted="sizes of 0 or more")
    if math.prod(size or 1 for size in shape) > MOST_ELEMENTS:  # NumPy refuses huge empty ones too
        raise SpecError(
            name, got=f"shape {list(shape)}", wanted=f"at most {MOST_ELEMENTS} elements"
        )


def _crossed(low: Sequence[float], high: Sequence[float]) -> bool:
    """Whether a lower bound is above its upper one; allocates nothing of the tensor's size."""
    return bool(low and high and np.any(np.array(low) > np.array(high)))


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Properties that all episodes of a session share: RL-Glue's task_specification."""

    observations: tuple[TensorSpec, ...]
    actions: tuple[TensorSpec, ...]
    reward_range: tuple[float, float] = (-math.inf, math.inf)  # of one step, task units
    discount: float = 1.0
    horizon: int = 0  # steps to truncation; 0 means no limit
    continuing: bool = False  # one episode that goes on forever
    rewards_in_evaluation: bool = True  # else NaN while phase is EVALUATE
    slots: int = 1  # S, episodes played at once
    extra: str = ""  # EXTRA of RL-Glue's string; by default it tells which tensors are texts

    def __post_init__(self) -> None:
        if self.extra == "":
            object.__setattr__(self, "extra", _extra_of(self.observations, self.actions))
        for what, tensors in (("observations", self.observations), ("actions", self.actions)):
            object.__setattr__(self, what, tuple(tensor.plain for tensor in tensors))
            if len(tensors) > MOST_TENSORS:
                raise SpecError(got=f"{len(tensors)} {what}", wanted=f"at most {MOST_TENSORS}")
            names = [tensor.name for tensor in tensors]
            if not names or len(set(names)) != len(names):
                raise SpecError(
                    got=f"{what} called {brief(names)}",
                    wanted="one or more, each with a name of its own",
                )
        if not 0.0 <= self.discount <= 1.0:
            raise SpecError(got=f"discount {self.discount}", wanted="0 to 1")
        extra: object = self.extra
        if not isinstance(extra, str) or len(extra) > MOST_EXTRA:
            wanted = f"text of at most {MOST_EXTRA} characters"
            raise SpecError(got=f"extra {brief(extra)}", wanted=wanted)
        if self.horizon < 0 or self.slots < 1:
            raise SpecError(f"got horizon {self.horizon} and {self.slots} slots")

    def with_slots(self, slots: int) -> TaskSpec:
        """The same task, played in `slots` slots."""
        return replace(self, slots=slots)


def _extra_of(observations: Sequence[TensorSpec], actions: Sequence[TensorSpec]) -> str:
    """The `extra` that tells which tensors are texts, without those for which it has no room."""
    told: dict[str, Any] = {}
    extra = ""
    for key, tensors in ((ACTION_TEXTS, actions), (OBSERVATION_TEXTS, observations)):
        texts = {tensor.name: tensor.legal_texts for tensor in tensors if tensor.legal_texts}
        more = json.dumps({**told, key: texts}, ensure_ascii=False)
        if texts and len(more) <= MOST_EXTRA:
            told[key], extra = texts, more
    return extra

"""The tasks that are played: every dtype, shape and domain; random numbers of their tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reglue.conformance.rule import elements
from reglue.spec import (
    DTYPES,
    Array,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)

_INT64_LOW, _INT64_HIGH = -(2**63), 2**63 - 1

PLAIN = TaskSpec(
    observations=(TensorSpec("observation", "float64", (3,)),),
    actions=(TensorSpec("action", "float32", (2,), Box((-1.0,), (1.0,))),),
    reward_range=(-1e300, 1.5e300),
    discount=0.99,
    horizon=150,
)

_PLAIN = PLAIN.observations


def _same(*tensors: TensorSpec) -> TaskSpec:
    """The same tensors as observations and actions."""
    return TaskSpec(tensors, tensors)


TASKS: Mapping[str, TaskSpec] = {
    **{dtype: _same(TensorSpec("values", dtype, (2, 3))) for dtype in DTYPES},
    "scalars": _same(*(TensorSpec(f"a/{dtype}", dtype) for dtype in DTYPES)),
    "box": _same(
        TensorSpec("one/for/all", "float32", (3,), Box((-1.0,), (3.0,))),
        TensorSpec(
            "each its own".replace(" ", "_"), "float64", (2, 2), Box((-1, 0, -8, 2), (1, 16, 8, 2))
        ),
        TensorSpec("pixels", "uint8", (4,), Box((0,), (255,))),
    ),
    "discrete": _same(
        TensorSpec("from_zero", "int64", (), Discrete(3)),
        TensorSpec("below_zero", "int16", (), Discrete(7, -3)),
        TensorSpec("several", "uint8", (5,), Discrete(4, 250)),
        TensorSpec("least", "int64", (), Discrete(1, _INT64_LOW)),
        TensorSpec("most", "int64", (), Discrete(1, _INT64_HIGH)),
        TensorSpec("all", "int64", (), Discrete(2**64 - 1, _INT64_LOW)),
        TensorSpec("wide", "uint64", (2,), Discrete(2**64 - 1, 1)),
    ),
    "multi_discrete": _same(
        TensorSpec("small", "int32", (3,), MultiDiscrete((2, 1, 200))),
        TensorSpec("wide", "uint64", (2, 1), MultiDiscrete((2**64 - 1, 3))),
    ),
    "multi_binary": _same(
        *(TensorSpec(f"in/{dtype}", dtype, (4,), MultiBinary()) for dtype in DTYPES)
    ),
    "image": TaskSpec(
        observations=(
            TensorSpec("camera/left", "uint8", (84, 84, 3), Box((0,), (255,))),
            TensorSpec("camera/right", "uint8", (84, 84, 3), Box((0,), (255,))),
            TensorSpec("proprio", "float32", (7,)),
        ),
        actions=(TensorSpec("button", "uint8", (), Discrete(18)),),
    ),
    "empty": _same(
        TensorSpec("nothing", "float32", (0,)),
        TensorSpec("something", "int16", (2,)),
        TensorSpec("no/columns", "uint64", (3, 0, 2)),
    ),
    "axes": _same(TensorSpec("deep", "int8", (2, 1, 3, 1, 2, 1, 2))),
    "names": _same(
        TensorSpec("a/b/c/d", "uint8"),
        TensorSpec("été", "int8"),
        TensorSpec("x" * 200, "bool"),
        TensorSpec("a", "float32"),
    ),
}
"""Specs by name."""

CONTINUING = TaskSpec(_PLAIN, PLAIN.actions, continuing=True, discount=0.5)
"""One episode without end."""

WITHHELD = TaskSpec(_PLAIN, PLAIN.actions, rewards_in_evaluation=False)
"""Turns of PHASE_EVALUATE carry no rewards."""

LARGE_OBSERVATION = TaskSpec(
    observations=(TensorSpec("observation", "float64", (2**22 - 8,)),),
    actions=(TensorSpec("action", "uint8"),),
)
"""An end and a start in one turn are just less than the largest message of a hub."""

LARGE_ACTION = TaskSpec(
    observations=(TensorSpec("observation", "uint8"),),
    actions=(TensorSpec("action", "float64", (2**23 - 8,)),),
)
"""An answer of one row is just less than the largest message of a hub."""


_EXTREME = 0.2  # how often an element without bounds is one …
_MOST_EXTREMES = 1000  # … of so many in a row


def random_rows(
    rng: np.random.Generator, tensors: Sequence[TensorSpec], rows: int
) -> dict[str, Array]:
    """Name -> (rows, *shape), each element within its domain; all finite."""
    memory = rng.integers(0, 2**32, rows, np.uint32)
    made = elements(memory, tensors)
    for tensor in tensors:
        if tensor.domain == Box():
            values = made[tensor.name].reshape(rows, tensor.size)[:, :_MOST_EXTREMES]
            is_extreme = rng.random(values.shape) < _EXTREME
            values[is_extreme] = rng.choice(extremes(tensor.dtype), int(is_extreme.sum()))
    return made


def extremes(dtype: str) -> Array:
    """Numbers that are easily lost: the largest and smallest, -0, halves of a byte."""
    match np.dtype(dtype).kind:
        case "b":
            return np.array([False, True])
        case "f":
            most, tiny = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
            return np.array([most, -most, tiny, -0.0], dtype)
        case _:
            info = np.iinfo(dtype)
            return np.array([info.min, info.max, info.max - 1, 1, 127], dtype)

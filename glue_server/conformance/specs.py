"""The tasks that are played: every dtype, shape and domain that a spec can say."""

from __future__ import annotations

from collections.abc import Mapping

from reglue.spec import (
    DTYPES,
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
    """Seen and done alike."""
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
"""By name."""

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

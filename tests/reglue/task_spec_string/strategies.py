"""Task spec strings, and specs that such a string can tell, for Hypothesis."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from reglue.spec import Box, Discrete, Domain, MultiBinary, MultiDiscrete, TaskSpec, TensorSpec
from reglue.task_spec_string import AbstractType, Range, TaskSpecString
from tests.reglue.wire.wire_strategies import NAMES

INTS = st.integers(-(2**31), 2**31 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
FLOATS = ["float32", "float64"]
NARROW = ["bool", "uint8", "int8", "uint16", "int16", "int32"]  # need no bounds
WIDE = ["uint32", "int64", "uint64"]


@st.composite
def ranges(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> Range:
    low, high = sorted(draw(st.tuples(numbers, numbers)))
    return Range(
        draw(st.sampled_from([low, low, -math.inf, None])),
        draw(st.sampled_from([high, high, math.inf, None])),
        draw(st.integers(1, 4)),
    )


def abstract_types() -> st.SearchStrategy[AbstractType]:
    return st.builds(
        AbstractType,
        st.lists(ranges(INTS), max_size=4).map(tuple),
        st.lists(ranges(DOUBLES), max_size=4).map(tuple),
        st.integers(0, 5),
    )


def task_spec_strings(problem_types: st.SearchStrategy[str]) -> st.SearchStrategy[TaskSpecString]:
    return st.builds(
        TaskSpecString,
        problem_types,
        st.floats(0, 1),
        abstract_types(),
        abstract_types(),
        ranges(DOUBLES).map(lambda each: Range(each.low, each.high)),
        st.text().map(lambda text: text.lstrip(" \t\n\r\f\v")),
    )


@st.composite
def tellable_specs(draw: st.DrawFn) -> TaskSpec:
    """Specs whose integers 32 bits hold."""
    low, high = sorted(draw(st.tuples(DOUBLES, DOUBLES)))
    return TaskSpec(
        observations=draw(tensors()),
        actions=draw(tensors()),
        reward_range=(
            draw(st.sampled_from([low, -math.inf])),
            draw(st.sampled_from([high, math.inf])),
        ),
        discount=draw(st.floats(0, 1)),
        continuing=draw(st.booleans()),
    )


@st.composite
def tensors(draw: st.DrawFn) -> tuple[TensorSpec, ...]:
    made = []
    for name in draw(NAMES):
        shape = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
        dtype = draw(st.sampled_from([*FLOATS, *NARROW, *WIDE]))
        made.append(TensorSpec(name, dtype, shape, draw(domains(dtype, math.prod(shape)))))
    return tuple(made)


def domains(dtype: str, size: int) -> st.SearchStrategy[Domain]:
    if dtype in FLOATS:
        return float_boxes(size)
    kinds: list[st.SearchStrategy[Domain]] = [whole_boxes(dtype, size), st.just(MultiBinary())]
    if dtype != "bool":
        n = st.integers(1, 100)
        kinds += [
            st.builds(Discrete, n, st.integers(0, 20)),
            st.builds(MultiDiscrete, st.tuples(*[n] * size)),
        ]
    return st.one_of(kinds)


@st.composite
def float_boxes(draw: st.DrawFn, size: int) -> Box:
    count = draw(st.sampled_from([1, size]))
    pairs = [sorted(draw(st.tuples(DOUBLES, DOUBLES))) for _ in range(count)]
    low = tuple(draw(st.sampled_from([pair[0], -math.inf])) for pair in pairs)
    high = tuple(draw(st.sampled_from([pair[1], math.inf])) for pair in pairs)
    return Box(draw(st.sampled_from([low, ()])), draw(st.sampled_from([high, ()])))


@st.composite
def whole_boxes(draw: st.DrawFn, dtype: str, size: int) -> Box:
    """Each element's bounds hold at least one integer."""
    count = draw(st.sampled_from([1, size]))
    inside = draw(st.tuples(*[st.integers(0, 1)] * count))
    below = st.floats(0, 300) | (st.just(math.inf) if dtype in NARROW else st.nothing())
    low = tuple(number - draw(below) for number in inside)
    high = tuple(number + draw(below) for number in inside)
    no_bound = [()] if dtype in NARROW else []
    return Box(draw(st.sampled_from([low, *no_bound])), draw(st.sampled_from([high, *no_bound])))

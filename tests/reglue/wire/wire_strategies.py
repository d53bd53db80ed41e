"""Specs, turns and arrays of every kind, for Hypothesis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from reglue.error_message import printable
from reglue.messages.agent_messages import EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.spec import (
    DTYPES,
    Array,
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)

NAME = st.sampled_from(["x", "camera/left", "camera/right", "Größe", "a b"])
NAMES = st.lists(NAME, min_size=1, max_size=3, unique=True)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # no lone surrogates
TOLD = WORDS.map(printable)
"""Texts that strangers may send to people."""
BOUNDS = st.floats(allow_nan=False)


@st.composite
def domains(draw: st.DrawFn, dtype: str, size: int) -> Domain:
    kinds: list[st.SearchStrategy[Domain]] = [boxes(size), st.just(MultiBinary())]
    if np.dtype(dtype).kind in "ui":
        n = st.integers(1, 2**64 - 1)
        kinds += [
            st.builds(Discrete, n, st.integers(-(2**63), 2**63 - 1)),
            st.builds(MultiDiscrete, st.tuples(*[n] * size)),
        ]
    return draw(st.one_of(kinds))


@st.composite
def boxes(draw: st.DrawFn, size: int) -> Box:
    count = draw(st.sampled_from([1, size]))
    pairs = [sorted(draw(st.tuples(BOUNDS, BOUNDS))) for _ in range(count)]
    low, high = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return Box(draw(st.sampled_from([(), low])), draw(st.sampled_from([(), high])))


@st.composite
def tensors(draw: st.DrawFn) -> tuple[TensorSpec, ...]:
    made = []
    for name in draw(NAMES):
        dtype = draw(st.sampled_from(DTYPES))
        shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
        made.append(TensorSpec(name, dtype, shape, draw(domains(dtype, math.prod(shape)))))
    return tuple(made)


@st.composite
def task_specs(draw: st.DrawFn) -> TaskSpec:
    return TaskSpec(
        observations=draw(tensors()),
        actions=draw(tensors()),
        reward_range=draw(st.tuples(BOUNDS, BOUNDS)),
        discount=draw(st.floats(0, 1)),
        horizon=draw(st.integers(0, 2**32 - 1)),
        continuing=draw(st.booleans()),
        rewards_in_evaluation=draw(st.booleans()),
        slots=draw(st.integers(1, 6)),
    )


@st.composite
def arrays_of(draw: st.DrawFn, tensors: Sequence[TensorSpec], rows: int) -> dict[str, Array]:
    """Any bits at all, in the tensors' dtypes; shape (rows, *shape)."""
    arrays = {}
    for tensor in tensors:
        size = rows * tensor.row_bytes
        raw = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
        bits = raw & 1 if tensor.dtype == "bool" else raw
        arrays[tensor.name] = bits.view(tensor.dtype).reshape(rows, *tensor.shape)
    return arrays


@st.composite
def turns(draw: st.DrawFn, spec: TaskSpec) -> Turn:
    places = st.permutations(range(spec.slots))
    ends = draw(places)[: draw(st.integers(0, spec.slots))]
    others = [slot for slot in draw(places) if slot not in ends]
    steps = others[: draw(st.integers(0, len(others)))]
    starts = [slot for slot in draw(places) if slot not in steps]
    told, rows = len(ends) + len(steps), len(ends) + len(steps) + len(starts)
    kinds = draw(st.tuples(*[st.sampled_from(EndKind)] * len(ends)))
    flags = draw(st.tuples(*[st.integers(0, 3)] * len(steps)))
    seeds = draw(st.tuples(*[st.integers(0, 2**64 - 1)] * len(starts)))
    return Turn(
        phase=draw(st.sampled_from(Phase)),
        ends=Ends(np.array(ends, np.uint32), np.array(kinds, np.uint8)),
        steps=Steps(np.array(steps, np.uint32), np.array(flags, np.uint8)),
        starts=Starts(np.array(starts, np.uint32), np.array(seeds, np.uint64)),
        rewards=np.array(draw(st.tuples(*[st.floats()] * told)), np.float64),
        observations=draw(arrays_of(spec.observations, rows)),
    )

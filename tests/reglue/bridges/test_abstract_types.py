"""Rows of tensors as RL-Glue's integers, doubles and characters."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.bridges.rl_glue.abstract_types import RowLayout
from reglue.errors import BadReply, OutOfDomain
from reglue.spec import Box, Discrete, MultiBinary, TensorSpec
from tests.error_facts import raises

TENSORS = (
    TensorSpec("speed", "float32", (2,)),
    TensorSpec("image", "uint8", (2, 2), Box((0.0,), (255.0,))),
    TensorSpec("words", "uint8", (3,)),
    TensorSpec("kind", "int64", (), Discrete(9, -4)),
    TensorSpec("flags", "bool", (2,), MultiBinary()),
    TensorSpec("place", "float64", ()),
)
LAYOUT = RowLayout(TENSORS)


def rows() -> st.SearchStrategy[dict[str, Any]]:
    seed = st.integers(0, 2**32 - 1)
    return seed.map(
        lambda seed: {each.name: each.sample(np.random.default_rng(seed)) for each in TENSORS}
    )


@given(st.lists(rows(), min_size=1, max_size=3))
def test_rows_come_back_as_they_were(several: list[dict[str, Any]]) -> None:
    arrays = {each.name: np.stack([row[each.name] for row in several]) for each in TENSORS}
    back = LAYOUT.decode(LAYOUT.encode(arrays, len(several)))
    assert {name: (each.dtype, each.shape, each.tolist()) for name, each in back.items()} == {
        name: (each.dtype, each.shape, each.tolist()) for name, each in arrays.items()
    }


def test_numbers_of_a_kind_follow_one_another_in_the_specs_order() -> None:
    row: dict[str, Any] = {
        "speed": np.array([0.5, -1.0], np.float32),
        "image": np.array([[1, 2], [3, 255]], np.uint8),
        "words": np.frombuffer(b"abc", np.uint8),
        "kind": np.array(-4),
        "flags": np.array([True, False]),
        "place": np.array(np.nextafter(0.1, 1)),
    }
    ints, doubles = (1, 2, 3, 255, -4, 1, 0), (0.5, -1.0, np.nextafter(0.1, 1))
    wanted = struct.pack("!iii7i3d", 7, 3, 3, *ints, *doubles) + b"abc"
    assert LAYOUT.encode(row, 1) == [wanted]
    assert LAYOUT.size == len(wanted)


def test_an_integer_of_more_than_32_bits_is_not_sent() -> None:
    layout = RowLayout([TensorSpec("key", "int64", (), Box((0.0,), (9.0,)))])
    with raises(OutOfDomain, "key"):
        layout.encode({"key": np.array([2**31])}, 1)


def test_a_number_that_the_tensors_dtype_lacks_is_refused() -> None:
    layout = RowLayout([TensorSpec("level", "uint8", (), Discrete(200))])
    with pytest.raises(BadReply, match="256"):
        layout.decode([struct.pack("!iiii", 1, 0, 0, number) for number in (1, 256)])

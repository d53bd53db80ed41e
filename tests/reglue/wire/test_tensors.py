"""Named arrays as bytes."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import BadReply
from reglue.spec import DTYPES, TensorSpec
from reglue.wire.tensors import decode_arrays, decode_flags, encode_arrays, encode_flags
from tests.reglue.wire.wire_strategies import arrays_of, tensors

PAIR = TensorSpec("pair", "int16", (2,))


@given(st.data(), tensors(), st.integers(0, 3))
def test_arrays_are_the_same_after_a_round_trip(
    data: st.DataObject, specs: tuple[TensorSpec, ...], rows: int
) -> None:
    arrays = data.draw(arrays_of(specs, rows))
    decoded = decode_arrays(specs, encode_arrays(specs, arrays), rows)
    assert list(decoded) == [tensor.name for tensor in specs]
    for name, array in decoded.items():
        assert (array.dtype, array.shape) == (arrays[name].dtype, arrays[name].shape)
        assert array.tobytes() == arrays[name].tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_travels_little_endian(dtype: str) -> None:
    tensor = TensorSpec("one", dtype)
    [entry] = encode_arrays([tensor], {"one": np.array([1], dtype)})
    assert entry == np.array([1]).astype(np.dtype(dtype).newbyteorder("<")).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_big_endian_input_keeps_its_values(dtype: str) -> None:
    tensor = TensorSpec("both", dtype, (2,))
    given_ = np.array([[0, 1]]).astype(np.dtype(dtype).newbyteorder(">"))
    decoded = decode_arrays([tensor], encode_arrays([tensor], {"both": given_}), 1)
    assert decoded["both"].tolist() == given_.tolist()


def test_columns_first_input_travels_row_by_row() -> None:
    given_ = np.asfortranarray([[1, 2], [3, 4]], np.int16)
    assert encode_arrays([PAIR], {"pair": given_}) == [b"\1\0\2\0\3\0\4\0"]


def test_what_is_decoded_cannot_be_written_to() -> None:
    decoded = decode_arrays([PAIR], [bytes(4)], 1)
    assert not decoded["pair"].flags.writeable


def test_an_empty_tensor_has_its_rows() -> None:
    nothing = TensorSpec("nothing", "float64", (0, 3))
    assert decode_arrays([nothing], [b""], 5)["nothing"].shape == (5, 0, 3)


@pytest.mark.parametrize(("size", "rows"), [(0, ", 0 rows"), (7, ""), (9, ""), (16, ", 4 rows")])
def test_bytes_that_do_not_fit_are_refused(size: int, rows: str) -> None:
    with pytest.raises(BadReply) as refusal:
        decode_arrays([PAIR], [bytes(size)], 2)
    assert refusal.value.code == "WRONG_SIZE"
    assert refusal.value.got == f"{size} bytes of 'pair'{rows}"
    assert refusal.value.wanted.startswith("8 bytes: 2 rows of ")


@pytest.mark.parametrize("count", [0, 2])
def test_another_number_of_tensors_is_refused(count: int) -> None:
    with pytest.raises(BadReply) as refusal:
        decode_arrays([PAIR], [bytes(4)] * count, 1)
    error = refusal.value
    assert (error.code, error.got, error.wanted) == ("WRONG_SIZE", f"{count} tensors", "1")


def test_rows_that_are_claimed_and_not_sent_are_not_allocated() -> None:
    wide = TensorSpec("wide", "float64", (10_000,))
    tracemalloc.start()
    try:
        with pytest.raises(BadReply):
            decode_arrays([wide], [b""], 2**40)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


EVERY = np.array(list(product([False, True], repeat=3)))  # terminated, truncated, success


def test_each_flag_is_a_bit_of_its_steps_byte() -> None:
    wanted = bytes(a + 2 * b + 4 * c for a, b, c in EVERY.tolist())
    assert encode_flags(*EVERY.T) == wanted


def test_flags_are_the_same_after_a_round_trip() -> None:
    for came, went in zip(decode_flags(encode_flags(*EVERY.T)), EVERY.T, strict=True):
        assert came.dtype == np.bool_
        assert came.tolist() == went.tolist()


def test_no_steps_have_no_flags() -> None:
    nothing = np.zeros(0, np.bool_)
    assert encode_flags(nothing, nothing, nothing) == b""
    assert [column.shape for column in decode_flags(b"")] == [(0,)] * 3


def test_bits_of_later_versions_are_ignored() -> None:
    assert [column.tolist() for column in decode_flags(b"\xf9")] == [[True], [False], [False]]

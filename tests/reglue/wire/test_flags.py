"""How steps ended, as bytes."""

from __future__ import annotations

from itertools import product

import numpy as np

from reglue.wire.flags import decode_flags, encode_flags

EVERY = np.array(list(product([False, True], repeat=3)))  # terminated, truncated, success


def test_each_flag_is_a_bit_of_its_steps_byte() -> None:
    wanted = bytes(a + 2 * b + 4 * c for a, b, c in EVERY.tolist())
    assert encode_flags(*EVERY.T) == wanted


def test_flags_are_the_same_after_their_journey() -> None:
    for came, went in zip(decode_flags(encode_flags(*EVERY.T)), EVERY.T, strict=True):
        assert came.dtype == np.bool_
        assert came.tolist() == went.tolist()


def test_no_steps_have_no_flags() -> None:
    nothing = np.zeros(0, np.bool_)
    assert encode_flags(nothing, nothing, nothing) == b""
    assert [column.shape for column in decode_flags(b"")] == [(0,)] * 3


def test_bits_of_later_versions_are_ignored() -> None:
    assert [column.tolist() for column in decode_flags(b"\xf9")] == [[True], [False], [False]]

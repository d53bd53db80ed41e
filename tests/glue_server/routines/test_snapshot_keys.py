"""Snapshots that the glue keeps under keys."""

from __future__ import annotations

import pytest

from glue_server.routines.snapshot_keys import SEED, STATE, SnapshotKeys
from reglue.errors import OutOfDomain, UnknownKey
from tests.error_facts import raises


def test_a_key_gives_back_what_was_kept() -> None:
    keys = SnapshotKeys()
    kept = [keys.keep(STATE, b"one"), keys.keep(SEED, b"two"), keys.keep(STATE, b"three")]
    assert keys.snapshot(STATE, kept[2]) == b"three"
    assert keys.snapshot(SEED, kept[1]) == b"two"
    assert keys.snapshot(STATE, kept[0]) == b"one"


def test_keys_differ_though_the_states_are_equal() -> None:
    keys = SnapshotKeys()
    assert keys.keep(STATE, b"same") != keys.keep(STATE, b"same")


def test_another_glues_key_is_unknown() -> None:
    ours, theirs = SnapshotKeys(), SnapshotKeys()
    ours.keep(STATE, b"ours")
    with raises(UnknownKey, "state-1"):
        ours.snapshot(STATE, theirs.keep(STATE, b"theirs"))


@pytest.mark.parametrize(
    "key", ["", "state-1", "state-1-", "no such key", "state-1-\n", "x" * 9999]
)
def test_words_that_are_no_key_are_unknown(key: str) -> None:
    keys = SnapshotKeys()
    keys.keep(STATE, b"one")
    with raises(UnknownKey, got=f"the key {key[:80]!r}"):
        keys.snapshot(STATE, key)


def test_a_key_that_was_made_up_is_unknown() -> None:
    keys = SnapshotKeys()
    given = keys.keep(STATE, b"one")
    for number in ("0", "2", "01", "9" * 5000, "١"):
        made_up = given.replace("-1-", f"-{number}-")
        with raises(UnknownKey, got=f"the key {made_up[:80]!r}"):
            keys.snapshot(STATE, made_up)


def test_a_seeds_key_is_no_states() -> None:
    keys = SnapshotKeys()
    with raises(UnknownKey, got="the key of a random seed", wanted="that of a state"):
        keys.snapshot(STATE, keys.keep(SEED, b"seed"))
    with raises(UnknownKey, got="the key of a state", wanted="that of a random seed"):
        keys.snapshot(SEED, keys.keep(STATE, b"state"))


def test_the_oldest_is_dropped_when_there_are_too_many() -> None:
    keys = SnapshotKeys(most_keys=2)
    first, second, third = (keys.keep(STATE, bytes([each])) for each in range(3))
    with raises(UnknownKey, "a state", "the last 2"):
        keys.snapshot(STATE, first)
    assert [keys.snapshot(STATE, key) for key in (second, third)] == [b"\1", b"\2"]


def test_as_many_are_dropped_as_the_bytes_demand() -> None:
    keys = SnapshotKeys(most_bytes=10)
    small = [keys.keep(STATE, bytes(3)) for _ in range(3)]
    large = keys.keep(STATE, bytes(7))
    for key in small[:2]:
        with raises(UnknownKey, "a state", "10 bytes"):
            keys.snapshot(STATE, key)
    assert len(keys.snapshot(STATE, small[2]) + keys.snapshot(STATE, large)) == 10


def test_one_that_is_larger_than_all_that_is_kept_is_refused_and_drops_nothing() -> None:
    keys = SnapshotKeys(most_bytes=10)
    kept = keys.keep(STATE, b"kept")
    with raises(OutOfDomain, got="a state of 11 bytes", wanted="at most 10"):
        keys.keep(STATE, bytes(11))
    assert keys.snapshot(STATE, kept) == b"kept"

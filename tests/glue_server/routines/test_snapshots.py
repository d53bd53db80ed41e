"""States and random seeds under keys."""

from __future__ import annotations

from typing import Any

import pytest

from glue_server.routines.snapshots import SEED, STATE, SnapshotKeys
from reglue.environments.environment import Environment
from reglue.errors import (
    NotSupported,
    OutOfDomain,
    OutOfOrder,
    UnknownKey,
)
from tests.glue_server.routines.lab import (
    ROUTINES,
    SPEC,
    Bench,
    Lab,
    begun,
    refused,
    started,
)


def test_a_state_goes_on_to_the_bit() -> None:
    bench = started()
    bench.step()
    key = bench.get_state()
    after = [bench.step() for _ in range(3)]
    bench.set_state(key)
    again = [bench.step() for _ in range(3)]
    assert [step.observations["seen"].tobytes() for step in after] == [
        step.observations["seen"].tobytes() for step in again
    ]


def test_a_state_makes_an_episode_live_again_whatever_it_was() -> None:
    bench = started()
    key = bench.get_state()
    bench.lab.fate = {0: "ends"}
    bench.step()
    before = bench.counts()
    bench.set_state(key)
    assert bench.counts() == before
    assert bench.env_step({"push": [0.0]}).observations["seen"].tolist() == [[1.0, 0.0]]


def test_a_state_may_be_set_in_another_slot_and_after_another_init() -> None:
    bench = started(slots=2)
    bench.step()
    key = bench.get_state(1)
    bench.init()
    bench.set_state(key, 0)
    assert bench.env_step({"push": [0.0]}, [0]).observations["seen"].tolist() == [[2.0, 0.25]]


def test_a_state_out_of_an_episode_is_refused() -> None:
    bench = begun()
    refused(bench, bench.get_state, OutOfOrder, "RL_get_state in slot 0, which has no episode")
    refused(bench, bench.get_random_seed, OutOfOrder, "RL_get_random_seed in slot 0")


def test_a_seed_goes_where_an_episode_is_on() -> None:
    bench = started(slots=2)
    key = bench.get_random_seed(0)
    bench.set_random_seed(key, 1)
    assert bench.asked()[0] == [("get_random_seed", 0), ("set_random_seed", 1, b"seed")]
    bench.lab.fate = {1: "ends"}
    bench.step()
    refused(
        bench, lambda: bench.set_random_seed(key, 1), OutOfOrder, "RL_set_random_seed in slot 1"
    )


def test_keys_that_are_not_ours_or_of_another_kind_are_refused() -> None:
    bench, other = started(), started()
    keys = ["", "state-1-0", other.get_state(), bench.get_random_seed()]
    for key in keys:
        refused(bench, lambda: bench.set_state(key), UnknownKey)  # noqa: B023
    state = bench.get_state()
    refused(bench, lambda: bench.set_random_seed(state), UnknownKey, "got the key of a state")


def test_states_of_a_slot_that_there_is_not_are_refused() -> None:
    bench = started()
    key = bench.get_state()
    refused(bench, lambda: bench.get_state(1), OutOfDomain, "got slot 1, wanted 0 to 0")
    refused(bench, lambda: bench.set_state(key, 1), OutOfDomain)


class Plain(Environment):
    """Has nothing that is optional."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self._lab = Lab()

    def env_init(self, slots: int) -> Any:
        self._lab.spec = SPEC.with_slots(slots)
        return self._lab.env_init(slots)

    def play(self, play: Any) -> Any:
        return self._lab.play(play)


@pytest.mark.parametrize(
    "routine",
    [
        "RL_standardize_randomness",
        "RL_get_state",
        "RL_set_state",
        "RL_get_random_seed",
        "RL_set_random_seed",
    ],
)
def test_what_an_environment_lacks_is_refused_before_it_is_asked(routine: str) -> None:
    bench = Bench(lab=Plain())  # type: ignore[arg-type]
    bench.init()
    bench.start()
    refused(bench, lambda: ROUTINES[routine](bench), NotSupported, f"got {routine}, wanted an")


def test_a_state_that_the_environment_refuses_changes_nothing() -> None:
    class Forgetful(Lab):
        def env_set_state(self, slot: int, state: bytes) -> None:
            raise UnknownKey(got="a state", wanted="one of today")

    bench = started(lab=Forgetful())
    key = bench.get_state()
    with pytest.raises(UnknownKey, match="wanted one of today"):
        bench.set_state(key)
    bench.lab.fate = {0: "ends"}
    bench.step()
    with pytest.raises(UnknownKey, match="wanted one of today"):
        bench.set_state(key)
    refused(bench, bench.step, OutOfOrder, "which has no episode")


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
    with pytest.raises(UnknownKey, match="wanted one that this glue gave out"):
        ours.snapshot(STATE, theirs.keep(STATE, b"theirs"))


@pytest.mark.parametrize(
    "key", ["", "state-1", "state-1-", "no such key", "state-1-\n", "x" * 9999]
)
def test_words_that_are_no_key_are_unknown(key: str) -> None:
    keys = SnapshotKeys()
    keys.keep(STATE, b"one")
    with pytest.raises(UnknownKey, match="wanted one that this glue gave out"):
        keys.snapshot(STATE, key)


def test_a_key_that_was_made_up_is_unknown() -> None:
    keys = SnapshotKeys()
    given = keys.keep(STATE, b"one")
    for number in ("0", "2", "01", "9" * 5000, "١"):
        with pytest.raises(UnknownKey, match="wanted one that this glue gave out"):
            keys.snapshot(STATE, given.replace("-1-", f"-{number}-"))


def test_a_seeds_key_is_no_states() -> None:
    keys = SnapshotKeys()
    with pytest.raises(UnknownKey, match="got the key of a random seed, wanted that of a state"):
        keys.snapshot(STATE, keys.keep(SEED, b"seed"))
    with pytest.raises(UnknownKey, match="got the key of a state, wanted that of a random seed"):
        keys.snapshot(SEED, keys.keep(STATE, b"state"))


def test_the_oldest_is_dropped_when_there_are_too_many() -> None:
    keys = SnapshotKeys(most_keys=2)
    first, second, third = (keys.keep(STATE, bytes([each])) for each in range(3))
    with pytest.raises(UnknownKey, match=r"not kept any more, wanted a later one: the last 2,"):
        keys.snapshot(STATE, first)
    assert [keys.snapshot(STATE, key) for key in (second, third)] == [b"\1", b"\2"]


def test_as_many_are_dropped_as_the_bytes_demand() -> None:
    keys = SnapshotKeys(most_bytes=10)
    small = [keys.keep(STATE, bytes(3)) for _ in range(3)]
    large = keys.keep(STATE, bytes(7))
    for key in small[:2]:
        with pytest.raises(UnknownKey, match="not kept any more"):
            keys.snapshot(STATE, key)
    assert len(keys.snapshot(STATE, small[2]) + keys.snapshot(STATE, large)) == 10


def test_one_that_is_larger_than_all_that_is_kept_is_refused_and_drops_nothing() -> None:
    keys = SnapshotKeys(most_bytes=10)
    kept = keys.keep(STATE, b"kept")
    with pytest.raises(OutOfDomain, match="got a state of 11 bytes, wanted at most 10"):
        keys.keep(STATE, bytes(11))
    assert keys.snapshot(STATE, kept) == b"kept"

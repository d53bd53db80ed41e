"""States and random seeds under keys."""

from __future__ import annotations

from typing import Any

import pytest

from reglue.environments.environment import Environment
from reglue.errors import (
    NotSupported,
    OutOfDomain,
    OutOfOrder,
    UnknownKey,
)
from tests.error_facts import raises
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
    refused(bench, bench.get_state, OutOfOrder, "RL_get_state", "slot 0", "RL_start")
    refused(bench, bench.get_random_seed, OutOfOrder, "RL_get_random_seed", "slot 0", "RL_start")


def test_a_seed_goes_where_an_episode_is_on() -> None:
    bench = started(slots=2)
    key = bench.get_random_seed(0)
    bench.set_random_seed(key, 1)
    assert bench.asked()[0] == [("get_random_seed", 0), ("set_random_seed", 1, b"seed")]
    bench.lab.fate = {1: "ends"}
    bench.step()
    refused(
        bench, lambda: bench.set_random_seed(key, 1), OutOfOrder, "RL_set_random_seed", "slot 1"
    )


def test_keys_that_are_not_ours_or_of_another_kind_are_refused() -> None:
    bench, other = started(), started()
    keys = ["", "state-1-0", other.get_state(), bench.get_random_seed()]
    for key in keys:
        refused(bench, lambda: bench.set_state(key), UnknownKey)  # noqa: B023
    state = bench.get_state()
    refused(bench, lambda: bench.set_random_seed(state), UnknownKey, "a state")


def test_states_of_a_slot_that_there_is_not_are_refused() -> None:
    bench = started()
    key = bench.get_state()
    refused(bench, lambda: bench.get_state(1), OutOfDomain, "slot 1", "0 to 0")
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
    refused(bench, lambda: ROUTINES[routine](bench), NotSupported, routine)


def test_a_state_that_the_environment_refuses_changes_nothing() -> None:
    class Forgetful(Lab):
        def env_set_state(self, slot: int, state: bytes) -> None:
            raise UnknownKey(got="a state", wanted="one of today")

    bench = started(lab=Forgetful())
    key = bench.get_state()
    with raises(UnknownKey, got="a state", wanted="one of today"):
        bench.set_state(key)
    bench.lab.fate = {0: "ends"}
    bench.step()
    with raises(UnknownKey, got="a state", wanted="one of today"):
        bench.set_state(key)
    refused(bench, bench.step, OutOfOrder, "slot 0", "RL_start")

"""Legality of actions, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glue_server.agent.actions import ActionChecks, Checked, default_action
from reglue.errors import BadReply
from reglue.spec import (
    Array,
    Arrays,
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)
from tests.reglue.wire.wire_strategies import arrays_of, task_specs


def acting(dtype: str, shape: tuple[int, ...], domain: Domain) -> TaskSpec:
    return spec_of(TensorSpec("action", dtype, shape, domain))


def spec_of(*actions: TensorSpec) -> TaskSpec:
    return TaskSpec((TensorSpec("observation", "float64"),), actions)


def check_actions(spec: TaskSpec, arrays: Arrays, rows: int) -> Checked:
    return ActionChecks(spec).check(arrays, rows)


def refused(spec: TaskSpec, values: Any) -> dict[int, str]:
    """Codes by row."""
    array = np.asarray(values, spec.actions[0].dtype)
    checked = check_actions(spec, {"action": array}, len(array))
    return {row: reply.code for row, reply in checked.refused.items()}


def clipped(spec: TaskSpec, values: Any) -> list[bool]:
    array = np.asarray(values, spec.actions[0].dtype)
    marks: list[bool] = check_actions(spec, {"action": array}, len(array)).clipped.tolist()
    return marks


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_that_is_not_finite_is_refused_alone(dtype: str, bad: float) -> None:
    spec = acting(dtype, (2,), Box())
    assert refused(spec, [[0, 0], [0, bad], [1, 1]]) == {1: "NOT_FINITE"}


def test_out_of_a_box_is_counted_and_not_refused() -> None:
    spec = acting("float32", (2,), Box((-1.0,), (1.0,)))
    assert refused(spec, [[0, 2]]) == {}
    assert clipped(spec, [[0, 0], [0, 2], [-1.5, 0]]) == [False, True, True]


@pytest.mark.parametrize("clips", [True, False])
def test_what_lies_out_of_a_box_is_clipped_unless_it_is_wanted_raw(clips: bool) -> None:
    spec = acting("float32", (2,), Box((-1.0, -2.0), (1.0, 2.0)))
    given_rows = np.array([[0, 0], [3, 3.4e38], [-1.5, 0]], np.float32)
    checked = ActionChecks(spec, clips=clips).check({"action": given_rows}, 3)
    wanted = np.array([[0, 0], [1, 2], [-1, 0]], np.float32) if clips else given_rows
    assert checked.arrays["action"].tolist() == wanted.tolist()
    assert given_rows[1, 0] == 3  # the agent's own array stays what it was


def test_integers_are_clipped_to_the_integers_within_their_bounds() -> None:
    spec = acting("int64", (2,), Box((0.5, -(2.0**70)), (2.5, 2.0**70)))
    rows = {"action": np.array([[-5, -(2**63)], [9, 2**63 - 1]])}
    assert check_actions(spec, rows, 2).arrays["action"].tolist() == [
        [1, -(2**63)],
        [2, 2**63 - 1],
    ]


def test_a_bound_played_in_the_tensors_own_dtype_is_within_bounds() -> None:
    """0.1 as float32 is more than 0.1 as float64."""
    spec = acting("float32", (), Box((-0.1,), (0.1,)))
    assert clipped(spec, np.array([0.1, -0.1, 0.11], np.float32)) == [False, False, True]


def test_a_bound_beyond_the_tensors_dtype_is_none() -> None:
    spec = acting("float32", (), Box((-1e300,), (1e300,)))
    assert clipped(spec, np.array([3.4e38, -3.4e38], np.float32)) == [False, False]


def test_each_element_has_its_own_bounds() -> None:
    spec = acting("float64", (2,), Box((-1.0, -5.0), (1.0, 5.0)))
    assert clipped(spec, [[0, 4], [4, 0]]) == [False, True]


def test_no_bounds_clip_nothing() -> None:
    assert clipped(acting("float64", (1,), Box()), [[1e300], [-1e300]]) == [False, False]


@pytest.mark.parametrize(
    ("dtype", "shape", "domain", "values", "bad"),
    [
        ("int64", (), Discrete(3, start=-1), [-1, 1, 2, -2], {2, 3}),
        ("uint64", (), Discrete(2**64 - 1), [2**64 - 2, 2**64 - 1], {1}),
        ("int32", (2,), MultiDiscrete((1, 3)), [[0, 2], [1, 0], [0, -1], [0, 3]], {1, 2, 3}),
        ("uint64", (2,), MultiDiscrete((2**64 - 1, 1)), [[2**64 - 2, 0], [2**64 - 1, 0]], {1}),
        ("uint8", (2,), MultiBinary(), [[0, 1], [2, 0]], {1}),
        ("float32", (2,), MultiBinary(), [[0, 1], [0.5, 0], [np.nan, 0]], {1, 2}),
    ],
)
def test_a_row_out_of_its_domain_is_refused_alone(
    dtype: str, shape: tuple[int, ...], domain: Domain, values: Any, bad: set[int]
) -> None:
    assert refused(acting(dtype, shape, domain), values) == dict.fromkeys(bad, "OUT_OF_DOMAIN")


@pytest.mark.parametrize("domain", [MultiBinary(), Box()])
def test_a_flag_that_is_neither_0_nor_1_is_refused(domain: Domain) -> None:
    """Flags from the wire are whatever bytes the agent sent."""
    flags = np.frombuffer(b"\x00\x01\x02", np.bool_)
    assert refused(acting("bool", (), domain), flags) == {2: "OUT_OF_DOMAIN"}


def test_a_refusal_says_what_was_got_and_what_was_wanted() -> None:
    checked = check_actions(acting("int64", (), Discrete(3)), {"action": np.array([7])}, 1)
    assert checked.refused[0].got == "'action' = [7]"
    assert checked.refused[0].wanted == "Discrete(n=3, start=0)"


@pytest.mark.parametrize("shape", [(2, 4), (3, 3), (0, 4), (3,), ()])
def test_another_number_of_elements_is_refused_whole(shape: tuple[int, ...]) -> None:
    spec = acting("float32", (4,), Box())
    with pytest.raises(BadReply) as refusal:
        check_actions(spec, {"action": np.zeros(shape, np.float32)}, 3)
    assert refusal.value.code == "WRONG_SIZE"
    assert refusal.value.wanted.startswith("shape (3, 4), float32: ")


def test_each_of_several_tensors_can_be_what_is_wrong() -> None:
    spec = spec_of(
        TensorSpec("arm", "float32", (2,), Box((-1.0,), (1.0,))),
        TensorSpec("grip", "uint8", (), Discrete(2)),
    )
    arms = np.array([[0, 0], [np.inf, 0], [0, 3], [0, 0]], np.float32)
    checked = check_actions(spec, {"arm": arms, "grip": np.array([0, 1, 1, 2], np.uint8)}, 4)
    assert {row: reply.code for row, reply in checked.refused.items()} == {
        1: "NOT_FINITE",
        3: "OUT_OF_DOMAIN",
    }
    assert checked.clipped.tolist() == [False, True, True, False]


def test_no_rows_are_nothing_to_refuse() -> None:
    spec = acting("float32", (4,), Box((-1.0,), (1.0,)))
    checked = check_actions(spec, {"action": spec.actions[0].empty(0)}, 0)
    assert checked.arrays["action"].shape == (0, 4)
    assert checked.packed.shape == (0, 16)
    assert checked.clipped.shape == (0,)


def test_a_row_that_cannot_be_legal_is_refused() -> None:
    """A byte holds no 300, whatever it is compared with."""
    spec = acting("uint8", (), Discrete(5, start=300))
    assert refused(spec, [44, 255]) == {0: "OUT_OF_DOMAIN", 1: "OUT_OF_DOMAIN"}


@pytest.mark.parametrize(
    ("domain", "values", "marks"),
    [
        (Box((-1.5,), (1.5,)), [-2, -1, 1, 2], [True, False, False, True]),
        (Box(), [-(2**31), 2**31 - 1], [False, False]),
    ],
)
def test_whole_numbers_have_bounds_too(
    domain: Domain, values: list[int], marks: list[bool]
) -> None:
    assert clipped(acting("int32", (), domain), values) == marks


def test_rows_are_packed_tensor_after_tensor() -> None:
    spec = spec_of(TensorSpec("arm", "float32", (2,)), TensorSpec("grip", "uint16", ()))
    arrays: dict[str, Array] = {
        "grip": np.array([3, 4], np.uint16),
        "arm": np.array([[0, 1], [2, 3]], np.float64)[:, ::-1].astype(np.float32),
    }
    checked = check_actions(spec, arrays, 2)
    assert list(checked.arrays) == ["arm", "grip"]
    assert checked.packed.tolist() == [
        [*np.array([1, 0], "<f4").tobytes(), 3, 0],
        [*np.array([3, 2], "<f4").tobytes(), 4, 0],
    ]


@given(st.data())
def test_legal_actions_stay_what_they_are(data: st.DataObject) -> None:
    spec = data.draw(task_specs())
    given_arrays = data.draw(arrays_of(spec.actions, rows=3))
    checked = ActionChecks(spec, clips=False).check(given_arrays, 3)
    packed = checked.packed
    assert packed.dtype == np.uint8
    assert packed.shape == (3, sum(tensor.row_bytes for tensor in spec.actions))
    entries = [
        np.ascontiguousarray(given_arrays[tensor.name])[row].tobytes()
        for row in range(3)
        for tensor in spec.actions
    ]
    assert packed.tobytes() == b"".join(entries)
    for tensor in spec.actions:
        values = checked.arrays[tensor.name]
        assert values.flags.c_contiguous
        assert_same(values, given_arrays[tensor.name], tensor)


def assert_same(got: Array, wanted: Array, tensor: TensorSpec) -> None:
    assert (got.dtype, got.shape) == (np.dtype(tensor.dtype), (3, *tensor.shape))
    assert got.tobytes() == np.asarray(wanted).tobytes()


@settings(max_examples=30)
@given(task_specs())
def test_there_is_a_default_action_for_any_spec(spec: TaskSpec) -> None:
    """Also where bounds contradict the dtype, and nothing is legal."""
    default = ActionChecks(spec).default(3)
    for tensor in spec.actions:
        assert_same(default.arrays[tensor.name], default.arrays[tensor.name], tensor)
    assert default.defaulted
    assert not default.clipped.any()


@pytest.mark.parametrize(
    ("dtype", "shape", "domain", "value"),
    [
        ("float32", (3,), Box((-1.0, 0.5, -2.0), (1.0, 2.0, -0.5)), [0.0, 0.5, -0.5]),
        ("float64", (2,), Box(), [0.0, 0.0]),
        ("int32", (2,), Box((0.5, -9.0), (9.0, -1.5)), [1, -2]),
        ("int64", (), Discrete(4, start=-7), -7),
        ("uint8", (2,), MultiDiscrete((3, 4)), [0, 0]),
        ("bool", (2,), MultiBinary(), [False, False]),
        ("bool", (), Box((1.0,), (1.0,)), True),
        ("int64", (), Box((2.0**70,), ()), 2**63 - 1),
    ],
)
def test_a_default_action_is_what_lies_nearest_to_zero_or_the_least(
    dtype: str, shape: tuple[int, ...], domain: Domain, value: Any
) -> None:
    spec = acting(dtype, shape, domain)
    assert default_action(spec.actions[0]).tolist() == value
    checked = check_actions(spec, ActionChecks(spec).default(2).arrays, 2)
    assert not checked.refused
    assert checked.clipped.any() == (domain == Box((2.0**70,), ()))

"""TaskSpec as bytes, and bytes that are no TaskSpec."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given

from reglue.errors import SpecError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES
from reglue.spec import MOST_ELEMENTS, TaskSpec
from reglue.v1 import spec_pb2 as pb
from reglue.wire.spec_encoding import decode_spec, spec_from_bytes, spec_to_bytes
from tests.error_facts import raises
from tests.reglue.wire.wire_strategies import task_specs


def message(**tensor: object) -> pb.TaskSpec:
    """A legal spec of one observation, with that tensor's fields changed."""
    legal = {"name": "seen", "dtype": pb.DTYPE_FLOAT32, "shape": [2], "box": pb.Box()}
    return pb.TaskSpec(
        observations=[pb.TensorSpec(**legal | tensor)],  # type: ignore[arg-type]
        actions=[pb.TensorSpec(**legal)],  # type: ignore[arg-type]
        slots=1,
    )


@given(task_specs())
def test_a_spec_is_the_same_after_its_journey(spec: TaskSpec) -> None:
    assert spec_from_bytes(spec_to_bytes(spec)) == spec


@pytest.mark.parametrize("dtype", [0, 12, 99])
def test_an_unknown_dtype_is_refused(dtype: int) -> None:
    with raises(SpecError, "seen", "'uint8'", got=f"dtype {dtype}"):
        decode_spec(message(dtype=dtype))


def test_a_tensor_without_a_domain_is_refused() -> None:
    with raises(SpecError, "seen", "domain"):
        decode_spec(message(box=None))


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"box": pb.Box(low=[0, 0, 0])},
        {"box": pb.Box(low=[2], high=[1])},
        {"box": pb.Box(low=[float("nan")])},
        {"box": None, "discrete": pb.Discrete(n=3)},
        {"box": None, "dtype": pb.DTYPE_INT8, "discrete": pb.Discrete(n=0)},
        {"box": None, "dtype": pb.DTYPE_INT8, "multi_discrete": pb.MultiDiscrete(n=[1])},
        {"box": None, "dtype": pb.DTYPE_INT8, "multi_discrete": pb.MultiDiscrete(n=[1, 0])},
    ],
    ids=str,
)
def test_a_tensor_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        decode_spec(message(**change))


@pytest.mark.parametrize(
    "break_it",
    [
        lambda spec: spec.ClearField("observations"),
        lambda spec: spec.ClearField("actions"),
        lambda spec: spec.ClearField("slots"),
        lambda spec: spec.observations.append(spec.observations[0]),
        lambda spec: setattr(spec, "discount", float("nan")),
        lambda spec: setattr(spec, "discount", 1.5),
    ],
    ids=["no observations", "no actions", "no slots", "one name twice", "NaN", "discount 1.5"],
)
def test_a_spec_that_contradicts_itself_is_refused(
    break_it: Callable[[pb.TaskSpec], None],
) -> None:
    broken = message()
    break_it(broken)
    with pytest.raises(SpecError):
        decode_spec(broken)


@pytest.mark.parametrize(
    ("shape", "at_most"),
    [
        ([2**31, 2**31], MOST_ELEMENTS),
        ([2**32 - 1] * 3, MOST_ELEMENTS),
        ([MOST_ELEMENTS + 1], MOST_ELEMENTS),
        ([2**31] * 3 + [0], MOST_ELEMENTS),
        ([1] * 64, 63),
    ],
    ids=str,
)
def test_a_huge_shape_is_refused_before_anything_is_allocated(
    shape: list[int], at_most: int
) -> None:
    claim = message(shape=shape)
    tracemalloc.start()
    try:
        with raises(SpecError, "seen", "shape", at_most):
            decode_spec(claim)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_tensor_may_be_as_large_as_a_message_of_the_hub() -> None:
    assert MOST_ELEMENTS == HUB_MESSAGE_BYTES


def test_bytes_that_are_no_message_are_refused() -> None:
    with raises(SpecError, "TaskSpec"):
        spec_from_bytes(b"\xff\xff\xff")

"""TaskSpecs as task spec strings and back."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import SpecError, UnknownVersion
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES
from reglue.spec import (
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)
from reglue.task_spec_string import (
    TaskSpecString,
    parse_task_spec,
    task_spec_from_string,
    task_spec_to_string,
)
from reglue.task_spec_string.conversion import MOST_NUMBERS
from reglue.wire.spec_encoding import spec_from_bytes, spec_to_bytes
from tests.error_facts import raises
from tests.reglue.task_spec_string.strategies import task_spec_strings, tellable_specs

STILL = TensorSpec("action", "int32", (), Discrete(1))
PROBLEM_TYPES = st.sampled_from(["episodic", "continuing"])


def string(observations: str = "INTS (0 1)", **parts: str) -> str:
    told = {"type": "episodic", "discount": "1", "rewards": "(UNSPEC UNSPEC)"} | parts
    return (
        f"VERSION RL-Glue-3.0 PROBLEMTYPE {told['type']} DISCOUNTFACTOR {told['discount']} "
        f"OBSERVATIONS {observations} ACTIONS INTS (0 0) REWARDS {told['rewards']} EXTRA"
    )


def observations_of(sections: str) -> tuple[TensorSpec, ...]:
    return task_spec_from_string(string(sections)).observations


def written(*tensors: TensorSpec, **fields: Any) -> str:
    return task_spec_to_string(TaskSpec(tensors, (STILL,), **fields))


def sections_of(dtype: str, shape: tuple[int, ...], domain: Domain) -> str:
    text = written(TensorSpec("seen", dtype, shape, domain))
    return text.partition("OBSERVATIONS")[2].partition("ACTIONS")[0].strip()


# From a string.


def test_mountain_car() -> None:
    text = (
        "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1 OBSERVATIONS "
        "DOUBLES (-1.2 0.6) (-0.07 0.07) ACTIONS INTS (0 2) REWARDS (-1 0) EXTRA Mountain Car"
    )
    spec = TaskSpec(
        (TensorSpec("observation", "float64", (2,), Box((-1.2, -0.07), (0.6, 0.07))),),
        (TensorSpec("action", "int32", (), Discrete(3)),),
        reward_range=(-1.0, 0.0),
        discount=1.0,
        extra="Mountain Car",
    )
    assert task_spec_from_string(text) == spec
    assert task_spec_to_string(spec) == text


@pytest.mark.parametrize(
    ("sections", "dtype", "shape", "domain"),
    [
        ("INTS (1 20)", "int32", (), Discrete(20, start=1)),
        ("INTS (-2147483648 2147483647)", "int32", (), Discrete(2**32, start=-(2**31))),
        ("INTS (0 POSINF)", "int32", (1,), Box((0.0,), ())),
        ("INTS (2 0 1)", "int32", (2,), MultiDiscrete((2, 2))),
        ("INTS (0 1) (0 3)", "int32", (2,), MultiDiscrete((2, 4))),
        ("INTS (0 1) (1 3)", "int32", (2,), Box((0.0, 1.0), (1.0, 3.0))),
        ("INTS (2 0 UNSPEC)", "int32", (2,), Box((0.0,), ())),
        ("DOUBLES (0 1)", "float64", (1,), Box((0.0,), (1.0,))),
        ("DOUBLES (39 UNSPEC UNSPEC)", "float64", (39,), Box()),
        ("DOUBLES (NEGINF 1) (2 0 1)", "float64", (3,), Box((-math.inf, 0.0, 0.0), (1.0,))),
        ("CHARCOUNT 4", "uint8", (4,), Box()),
        ("", "uint8", (0,), Box()),
    ],
)
def test_what_a_string_describes(
    sections: str, dtype: str, shape: tuple[int, ...], domain: Domain
) -> None:
    assert observations_of(sections) == (TensorSpec("observation", dtype, shape, domain),)


def test_several_kinds_are_tensors_named_after_them_in_rl_glues_order() -> None:
    assert observations_of("CHARCOUNT 2 DOUBLES (0 1) INTS (0 1)") == (
        TensorSpec("ints", "int32", (), Discrete(2)),
        TensorSpec("doubles", "float64", (1,), Box((0.0,), (1.0,))),
        TensorSpec("chars", "uint8", (2,)),
    )


@pytest.mark.parametrize(
    ("text", "reward_range"),
    [
        ("(UNSPEC UNSPEC)", (-math.inf, math.inf)),
        ("(NEGINF POSINF)", (-math.inf, math.inf)),
        ("(UNSPEC 0)", (-math.inf, 0.0)),
    ],
)
def test_rewards_without_bounds_are_infinite(text: str, reward_range: tuple[float, float]) -> None:
    assert task_spec_from_string(string(rewards=text)).reward_range == reward_range


def test_the_problem_type_says_whether_the_task_goes_on_forever() -> None:
    assert task_spec_from_string(string(type="continuing")).continuing
    assert not task_spec_from_string(string(type="episodic")).continuing


@pytest.mark.parametrize("problem_type", ["other", "Episodic", "<mine>"])
def test_a_problem_type_that_no_spec_knows_is_refused(problem_type: str) -> None:
    with raises(SpecError, f"'{problem_type}'", "episodic"):
        task_spec_from_string(string(type=problem_type))


def test_another_version_stays_unknown() -> None:
    with pytest.raises(UnknownVersion):
        task_spec_from_string("VERSION Real-Time-Strategy-1.0")


@pytest.mark.parametrize(
    "sections",
    [
        "INTS (2147483647 0 1)",
        "INTS (2147483647 0 1) (0 2)",
        "DOUBLES (8388608 0 1) (0 2)",
        "CHARCOUNT 2147483647",
    ],
)
def test_a_huge_repeat_is_refused_before_anything_is_allocated(sections: str) -> None:
    tracemalloc.start()
    try:
        with raises(SpecError, "observation", MOST_NUMBERS):
            observations_of(sections)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_as_many_numbers_are_read_as_a_message_of_the_hub_holds_float64s() -> None:
    assert MOST_NUMBERS * 8 == HUB_MESSAGE_BYTES
    assert observations_of(f"DOUBLES ({MOST_NUMBERS} 0 1)")[0].shape == (MOST_NUMBERS,)


# To a string.


@pytest.mark.parametrize(
    ("dtype", "shape", "domain", "sections"),
    [
        ("int64", (), Discrete(5), "INTS (0 4)"),
        ("int64", (), Discrete(2, start=-1), "INTS (-1 0)"),
        ("int64", (3,), MultiDiscrete((2, 2, 5)), "INTS (2 0 1) (0 4)"),
        ("int8", (2, 2), MultiBinary(), "INTS (4 0 1)"),
        ("float32", (2,), MultiBinary(), "INTS (2 0 1)"),
        ("bool", (2,), Box(), "INTS (2 0 1)"),
        ("bool", (), Box((1.0,), ()), "INTS (1 1)"),
        ("uint8", (84, 84, 3), Box((0.0,), (255.0,)), "INTS (21168 0 255)"),
        ("uint8", (84, 84, 3), Box(), "CHARCOUNT 21168"),
        ("int16", (2,), Box(), "INTS (2 -32768 32767)"),
        ("int32", (), Box(), "INTS (NEGINF POSINF)"),
        ("int32", (2,), Box((0.0,), ()), "INTS (2 0 POSINF)"),
        ("int32", (2,), Box((-0.5,), (1.5,)), "INTS (2 0 1)"),
        ("uint32", (2,), Box((), (9.0,)), "INTS (2 0 9)"),
        ("uint64", (2,), Box((-3.0,), (9.0, 8.0)), "INTS (0 9) (0 8)"),
        ("float32", (2, 2), Box((-1.0,), (1.0,)), "DOUBLES (4 -1 1)"),
        ("float64", (3,), Box((0.0, 0.0, 1.0), (2.0,)), "DOUBLES (2 0 2) (1 2)"),
        ("float64", (0,), Box((0.0,), (1.0,)), ""),
    ],
)
def test_how_a_tensor_is_told(
    dtype: str, shape: tuple[int, ...], domain: Domain, sections: str
) -> None:
    assert sections_of(dtype, shape, domain) == sections


def test_a_missing_lower_bound_is_never_repeated() -> None:
    """RL-Glue's C parser refuses (39 NEGINF POSINF)."""
    told = sections_of("float32", (39,), Box())
    assert told == "DOUBLES" + " (NEGINF POSINF)" * 39


def test_tensors_of_one_kind_stand_behind_one_another() -> None:
    text = written(
        TensorSpec("camera/left", "uint8", (2,)),
        TensorSpec("arm", "float32", (1,), Box((0.0,), (1.0,))),
        TensorSpec("lamp", "bool"),
        TensorSpec("hand", "float64", (), Box((0.0,), (1.0,))),
        TensorSpec("camera/right", "uint8", (3,)),
    )
    assert "OBSERVATIONS INTS (0 1) DOUBLES (2 0 1) CHARCOUNT 5 ACTIONS" in text


def test_the_fields_of_the_whole() -> None:
    text = written(STILL, reward_range=(-math.inf, 10.0), discount=0.99, continuing=True)
    assert "PROBLEMTYPE continuing DISCOUNTFACTOR 0.99 OBSERVATIONS" in text
    assert text.endswith("REWARDS (UNSPEC 10) EXTRA")
    assert written(STILL).endswith("REWARDS (UNSPEC UNSPEC) EXTRA")


def test_what_a_string_has_no_place_for_is_left_out() -> None:
    told = {"horizon": 500, "slots": 10, "rewards_in_evaluation": False}
    assert written(STILL, **told) == written(STILL)


@pytest.mark.parametrize(
    ("dtype", "domain"),
    [
        ("int64", Box()),
        ("uint32", Box((0.0,), ())),
        ("int64", Box((0.0,), (2.0**31,))),
        ("uint64", Discrete(2**40)),
        ("int32", Box((0.2,), (0.8,))),
        ("int32", Box((math.inf,), ())),
        ("uint8", Box((256.0,), ())),
        ("uint8", Box((), (-1.0,))),
        ("float64", Box((math.inf,), ())),
        ("float64", Box((), (-math.inf,))),
    ],
)
def test_bounds_that_would_be_told_wrongly_are_refused(dtype: str, domain: Domain) -> None:
    with raises(SpecError, "seen", dtype):
        sections_of(dtype, (), domain)


def test_a_huge_tensor_is_refused_before_anything_is_allocated() -> None:
    tracemalloc.start()
    try:
        with raises(SpecError, "observations", 2**25):
            sections_of("float64", (2**12, 2**13), Box())
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("reward_range", [(1.0, 0.0), (math.nan, 0.0), (math.inf, math.inf)])
def test_a_wrong_reward_range_is_refused(reward_range: tuple[float, float]) -> None:
    with raises(SpecError, "reward_range", *reward_range):
        written(STILL, reward_range=reward_range)


# There and back.


@given(tellable_specs())
def test_a_spec_means_the_same_after_its_journey(spec: TaskSpec) -> None:
    assert meaning(task_spec_from_string(task_spec_to_string(spec))) == meaning(spec)


@given(tellable_specs(), st.sampled_from(["", "Größe"]))
def test_a_spec_is_told_in_normal_form(spec: TaskSpec, extra: str) -> None:
    text = task_spec_to_string(spec, extra)
    assert task_spec_to_string(task_spec_from_string(text)) == text


def test_extra_survives_the_journey_over_a_wire_too() -> None:
    text = f"{written(STILL)} by Brian Tanner (ACTIONS)"
    spec = spec_from_bytes(spec_to_bytes(task_spec_from_string(text)))
    assert spec.extra == "by Brian Tanner (ACTIONS)"
    assert task_spec_to_string(spec) == text
    assert task_spec_to_string(spec, "another") == text.replace(spec.extra, "another")


@pytest.mark.parametrize("extra", ["x" * 4097, None, 3])
def test_an_extra_that_cannot_be_is_refused(extra: Any) -> None:
    with raises(SpecError, "extra", 4096):
        TaskSpec((STILL,), (STILL,), extra=extra)


@given(task_spec_strings(PROBLEM_TYPES))
def test_a_string_is_in_normal_form_after_its_journey(said: TaskSpecString) -> None:
    text = task_spec_to_string(task_spec_from_string(str(said)))
    after = parse_task_spec(text)
    assert (after.problem_type, after.discount, after.extra) == (
        said.problem_type,
        said.discount,
        said.extra,
    )
    assert each_of([after.rewards]) == each_of([said.rewards])
    for before, told in ((said.observations, after.observations), (said.actions, after.actions)):
        assert told.chars == before.chars
        for ranges, normal in ((before.ints, told.ints), (before.doubles, told.doubles)):
            assert each_of(normal) == each_of(ranges)
            assert all(each.repeat == 1 for each in normal if each.low == -math.inf)
            for one, other in itertools.pairwise(normal):
                assert one.low == -math.inf or (one.low, one.high) != (other.low, other.high)


def each_of(ranges: Any) -> list[tuple[float, float]]:
    """A pair of bounds for every number."""
    return [
        (-math.inf if each.low is None else each.low, math.inf if each.high is None else each.high)
        for each in ranges
        for _ in range(each.repeat)
    ]


def meaning(spec: TaskSpec) -> Any:
    """The facts that RL-Glue's peers can know of a spec, worked out number by number."""
    kinds = [
        {
            kind: [pair for tensor in tensors for told, pair in numbers(tensor) if told == kind]
            for kind in ("int", "double", "char")
        }
        for tensors in (spec.observations, spec.actions)
    ]
    return kinds, spec.reward_range, spec.discount, spec.continuing


def numbers(tensor: TensorSpec) -> list[tuple[str, tuple[float, float]]]:
    match tensor.domain:
        case Discrete(n, start):
            return [("int", (start, start + n - 1))] * tensor.size
        case MultiDiscrete(n):
            return [("int", (0, each - 1)) for each in n]
        case MultiBinary():
            return [("int", (0, 1))] * tensor.size
        case Box():
            kind = "int" if np.dtype(tensor.dtype).kind in "iub" else "double"
            if tensor == TensorSpec(tensor.name, "uint8", tensor.shape):
                kind = "char"
            pairs = zip(tensor.low().ravel(), tensor.high().ravel(), strict=True)
            return [(kind, bounds(tensor, low, high)) for low, high in pairs]


def bounds(tensor: TensorSpec, low: float, high: float) -> tuple[float, float]:
    if tensor.dtype.startswith("float"):
        return low, high
    least, most = limits(tensor.dtype)
    return float(max(np.ceil(low), least)), float(min(np.floor(high), most))


def limits(dtype: str) -> tuple[float, float]:
    if dtype == "int32":
        return -math.inf, math.inf
    return (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)

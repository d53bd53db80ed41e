"""JSON schemas as tensors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from reglue.bridges.openenv.json_fields import Fields
from reglue.errors import EnvironmentFault, UnknownName, UsageError
from reglue.spec import Box, Discrete, MultiBinary, TensorSpec
from reglue.texts import Text

NULL = {"type": "null"}


def array(items: Any, size: int) -> Any:
    return {"type": "array", "items": items, "minItems": size, "maxItems": size}


def fields(kind: str, changes: Any = None, **properties: Any) -> Fields:
    schema = {
        "$defs": {"Two": {"enum": ["a", 2]}, "Loop": {"$ref": "#/$defs/Loop"}},
        "properties": properties,
    }
    return Fields(kind, json.loads(json.dumps(schema)), changes or {}, ())


@pytest.mark.parametrize(
    ("schema", "spec"),
    [
        ({"type": "integer"}, TensorSpec("x", "int64")),
        ({"type": "integer", "minimum": 3}, TensorSpec("x", "int64", (), Box((3,)))),
        (
            {"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 5},
            TensorSpec("x", "int64", (), Discrete(5)),
        ),
        (
            {"type": "integer", "minimum": 0.5, "maximum": 2.5},
            TensorSpec("x", "int64", (), Discrete(2, 1)),
        ),
        (
            {"type": "integer", "minimum": 0, "maximum": 2**40},
            TensorSpec("x", "int64", (), Box((0,), (2**40,))),
        ),
        (
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            TensorSpec("x", "float64", (), Box((5e-324,), (1,))),
        ),
        ({"anyOf": [{"type": "integer"}, NULL]}, TensorSpec("x", "float64")),
        ({"type": "boolean"}, TensorSpec("x", "int64", (), Discrete(2))),
        ({"anyOf": [NULL, {"type": "boolean"}]}, TensorSpec("x", "int64", (), Discrete(3))),
        ({"const": "a"}, TensorSpec("x", "int64", (), Discrete(1))),
        ({"$ref": "#/$defs/Two"}, TensorSpec("x", "int64", (), Discrete(2))),
        ({"allOf": [{"$ref": "#/$defs/Two"}]}, TensorSpec("x", "int64", (), Discrete(2))),
        (array({"type": "boolean"}, 3), TensorSpec("x", "int8", (3,), MultiBinary())),
        (array(array({"type": "number"}, 2), 3), TensorSpec("x", "float64", (3, 2))),
        (array({"$ref": "#/$defs/Two"}, 2), TensorSpec("x", "int64", (2,), Discrete(2))),
        ({"type": "string", "maxLength": 7, "minLength": 2}, Text("x", 7, min_length=2)),
        ({"type": "string"}, Text("x", 1000)),
    ],
)
def test_each_kind_of_property_is_a_tensor(schema: Any, spec: TensorSpec) -> None:
    assert fields("observation", x=schema).specs == (spec,)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"type": "number"}},
        {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
        array({"type": "string"}, 2000),
        array({"type": "number"}, 10**9),
        array({}, 2),
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"anyOf": [array({"type": "number"}, 2), NULL]},
        {"enum": [[1], 2]},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "number", "minimum": "low"},
        {"type": "integer", "minimum": 10**30},
        {"type": "string", "maxLength": -1},
        {"type": "string", "maxLength": 10**9},
        {"type": "object", "properties": {"y": {"type": "array"}}},
    ],
    ids=repr,
)
def test_a_property_without_a_tensor_is_refused_by_name_and_may_be_omitted(schema: Any) -> None:
    good = {"type": "number"}
    with pytest.raises(UsageError, match="observation's x") as refused:
        fields("observation", good=good, x=schema)
    assert '{"x": null}' in str(refused.value)
    (spec,) = fields("observation", {"x": None}, good=good, x=schema).specs
    assert spec.name == "good"


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/$defs/None"}, {"$ref": "#/$defs/Loop"}, 3, {"anyOf": 3}], ids=repr
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(UsageError, match="x"):
        fields("observation", x=schema)


def test_an_actions_integer_needs_both_bounds_which_an_argument_may_give() -> None:
    column = {"type": "integer", "minimum": 0}
    with pytest.raises(UsageError, match="column"):
        fields("action", column=column)
    (spec,) = fields("action", {"column": {"maximum": 6}}, column=column).specs
    assert spec == TensorSpec("column", "int64", (), Discrete(7))
    with pytest.raises(UnknownName, match="column"):
        fields("action", {"colum": {"maximum": 6}}, column=column)


def test_rows_are_written_and_read() -> None:
    made = fields(
        "action",
        two=array({"$ref": "#/$defs/Two"}, 2),
        bits=array({"type": "boolean"}, 2),
        deep={"type": "object", "properties": {"pair": {
            "type": "array", "minItems": 2, "maxItems": 2,
            "prefixItems": [{"type": "number"}, {"type": "string", "maxLength": 2}],
        }}},
    )  # fmt: skip
    value = {"two": [2, "a"], "bits": [True, False], "deep": {"pair": [0.5, "é"]}}
    columns = {spec.name: spec.empty(2) for spec in made.specs}
    made.read(value, columns, 1)
    assert made.write(columns, 1) == value
    assert type(made.write(columns, 1)["bits"][0]) is bool
    assert columns["two"].tolist() == [[0, 0], [1, 0]]
    assert columns["deep/pair/0"].tolist() == [0.0, 0.5]


def test_null_is_nan_where_the_schema_allows_it_also_in_an_array() -> None:
    number = {"anyOf": [{"type": "number", "minimum": 0}, NULL]}
    nulls = fields("observation", x=number, three=array(number, 3), y={"type": "number"})
    columns = {spec.name: spec.empty(1) for spec in nulls.specs}
    nulls.read({"x": None, "three": [1.5, None, None], "y": 2}, columns, 0)
    assert np.isnan(columns["x"]).all()
    assert np.array_equal(columns["three"], [[1.5, np.nan, np.nan]], equal_nan=True)
    assert nulls.nullable == {"x", "three"}
    for value in (None, [None], [[1, 2, 3]]):
        with pytest.raises(EnvironmentFault):
            nulls.read({"x": 1, "three": value, "y": 2}, columns, 0)

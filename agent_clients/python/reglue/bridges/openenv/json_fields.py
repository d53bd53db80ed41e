"""Properties of JSON objects as tensors, and their values as rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from reglue.bridges.openenv.json_schemas import Schema, patched, properties_of
from reglue.error_message import brief
from reglue.errors import BadArgument, EnvironmentFault, UnknownName, UsageError, joined
from reglue.spec import (
    MOST_TENSORS,
    Arrays,
    Box,
    Discrete,
    Domain,
    MultiBinary,
    TensorSpec,
    check_row,
)
from reglue.texts import MOST_CHARACTERS, Text

_MOST_CHOICES = 2**31  # of a Discrete
_MOST = 2**63 - 1  # int64's
_MOST_MISTAKES = 20  # in a message
_SCALARS = (bool, int, float, str, type(None))

_Field: TypeAlias = "_Object | _Items | _Numbers | _Choices | _String"


class Fields:
    """The tensors of an object's properties, which are named by their path: `pose/x`, `legs/0`."""

    def __init__(
        self, kind: str, schema: Any, changes: Mapping[str, Any], hidden: Sequence[str]
    ) -> None:
        """Read a schema.

        Args:
            kind: `action` or `observation`: also the argument that has the changes.
            schema: The object's JSON schema.
            changes: A JSON merge patch of its properties: null omits one.
            hidden: Names of properties that do not become tensors.

        Raises UsageError, which names the properties that no tensor can hold.
        """
        properties = properties_of(f"the {kind}", schema)
        self.known = frozenset(properties)
        for name in hidden:
            properties.pop(name, None)
        for name in changes:
            if name not in properties:
                raise UnknownName(f"property of the {kind}", name, properties)
        reader = _Reader(kind)
        self._root = reader.object((), patched(properties, changes))
        if reader.mistakes:
            some = list(reader.mistakes.values())[:_MOST_MISTAKES]
            omitted = json.dumps(dict.fromkeys(list(reader.mistakes)[:_MOST_MISTAKES]))
            hint = f"the argument {kind} changes schemas, or omits properties: {omitted}"
            raise UsageError(f"the {kind}'s {joined(some).args[0]}; {hint}")
        self.specs = tuple(reader.specs)
        self.nullable = frozenset(reader.nullable)
        """The tensors in which null is NaN."""

    def read(self, value: Any, columns: Arrays, row: int) -> None:
        """Write an object's values to a row of `columns`, name -> (rows, *shape).

        Raises EnvironmentFault.
        """
        self._root.read(value, columns, row)

    def write(self, columns: Arrays, row: int) -> Any:
        """A row of `columns` as an object. Raises IllegalAction for bytes that are not text."""
        return self._root.write(columns, row)


@dataclass(frozen=True, slots=True)
class _Object:
    """An object, by its properties."""

    name: str
    fields: Mapping[str, _Field]

    def read(self, value: Any, columns: Arrays, row: int) -> None:
        if type(value) is not dict:
            raise _wrong(self.name, value, "an object")
        for name, field in self.fields.items():
            if name not in value:
                got = f"the properties {brief(sorted(value))}"
                raise EnvironmentFault(self.name or "observation", got=got, wanted=repr(name))
            field.read(value[name], columns, row)

    def write(self, columns: Arrays, row: int) -> Any:
        return {name: field.write(columns, row) for name, field in self.fields.items()}


@dataclass(frozen=True, slots=True)
class _Items:
    """An array whose items are tensors of their own."""

    name: str
    fields: Sequence[_Field]

    def read(self, value: Any, columns: Arrays, row: int) -> None:
        if type(value) is not list or len(value) != len(self.fields):
            raise _wrong(self.name, value, f"an array of {len(self.fields)} values")
        for field, item in zip(self.fields, value, strict=True):
            field.read(item, columns, row)

    def write(self, columns: Arrays, row: int) -> Any:
        return [field.write(columns, row) for field in self.fields]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers or booleans; null is NaN where the schema allows it, also in an array."""

    spec: TensorSpec
    kinds: str  # NumPy's, of the JSON values that fit
    is_nullable: bool = False

    def read(self, value: Any, columns: Arrays, row: int) -> None:
        if self.is_nullable:
            value = _with_nan(value)
        try:
            array = np.array(value)
        except (ValueError, OverflowError, RecursionError):  # rows of different lengths
            array = np.array(None)
        spec = self.spec
        if array.shape != spec.shape or array.dtype.kind not in self.kinds:
            null = "; OpenEnv sends NaN and infinity as null" * (spec.dtype == "float64")
            raise _wrong(spec.name, value, f"{spec.dtype} of shape {list(spec.shape)}{null}")
        if array.dtype.kind == "u" and array.max(initial=0) > _MOST and spec.dtype == "int64":
            raise _wrong(spec.name, value, "integers that fit in 64 bits")
        columns[spec.name][row] = array

    def write(self, columns: Arrays, row: int) -> Any:
        numbers = columns[self.spec.name][row]
        return (numbers != 0 if self.kinds == "b" else numbers).tolist()


@dataclass(frozen=True, slots=True)
class _Choices:
    """One of several values, as its index among them; or an array of such indices."""

    spec: TensorSpec
    values: Sequence[Any]
    places: Mapping[tuple[type, Any], int]

    def read(self, value: Any, columns: Arrays, row: int) -> None:
        columns[self.spec.name][row] = self._places(value, self.spec.shape)

    def write(self, columns: Arrays, row: int) -> Any:
        return self._values(columns[self.spec.name][row].tolist())

    def _places(self, value: Any, shape: tuple[int, ...]) -> Any:
        if shape:
            if type(value) is not list or len(value) != shape[0]:
                raise _wrong(self.spec.name, value, f"an array of shape {list(shape)}")
            return [self._places(each, shape[1:]) for each in value]
        place = self.places.get((type(value), value)) if isinstance(value, _SCALARS) else None
        if place is None:
            raise _wrong(self.spec.name, value, f"one of {brief(self.values)}")
        return place

    def _values(self, places: Any) -> Any:
        if isinstance(places, list):
            return [self._values(each) for each in places]
        return self.values[places]


@dataclass(frozen=True, slots=True)
class _String:
    """A string; null is empty where the schema allows it."""

    kind: str
    text: Text
    is_nullable: bool

    def read(self, value: Any, columns: Arrays, row: int) -> None:
        text = self.text
        if value is None and self.is_nullable:
            columns[text.name][row] = 0
            return
        if type(value) is not str:
            raise _wrong(text.name, value, "a string")
        try:
            columns[text.name][row] = text.encode(value)
        except BadArgument as error:
            got = f"a string of {len(value)} characters, {brief(value)}"
            wanted = f"{error.wanted}: give it a larger maxLength, or omit it, by {self.kind}"
            raise EnvironmentFault(text.name, got=got, wanted=wanted) from None

    def write(self, columns: Arrays, row: int) -> Any:
        return self.text.decode(columns[self.text.name][row])


class _Reader:
    """Makes fields of plain schemas."""

    def __init__(self, kind: str) -> None:
        self.specs: list[TensorSpec] = []
        self.nullable: set[str] = set()  # the tensors in which null is NaN
        self.mistakes: dict[str, UsageError] = {}  # by property
        self._kind = kind

    def object(self, path: Sequence[str], properties: Mapping[str, Any]) -> _Object:
        """An object with the fields of these properties; adds to `specs` and `mistakes`."""
        fields: dict[str, _Field] = {}
        for name, schema in properties.items():
            try:
                fields[name] = self._field([*path, name], schema)
            except UsageError as error:
                if path:
                    raise
                self.mistakes[name] = error
        return _Object("/".join(path), fields)

    def _field(self, path: Sequence[str], schema: Schema) -> _Field:
        name = "/".join(path)
        shape, element = _row(name, schema)
        made = self._leaf(name, shape, element)
        if made is not None:
            field, spec = made
            self.specs.append(spec)
            if len(self.specs) > MOST_TENSORS:
                got = f"more than {MOST_TENSORS} tensors in all"
                raise UsageError(name, got=got, wanted="fewer")
            return field
        if schema.get("nullable"):
            raise UsageError(name, got="an object or array that may be null", wanted="another")
        if isinstance(properties := schema.get("properties"), Mapping) and properties:
            return self.object(path, properties)
        if schema.get("type") == "array":
            count = _length(name, schema)
            if count > MOST_TENSORS:
                raise UsageError(name, got=f"{count} items", wanted=f"at most {MOST_TENSORS}")
            items = schema.get("prefixItems", [schema.get("items", {})] * count)
            if len(items) != count:
                raise UsageError(name, got=f"{len(items)} prefixItems", wanted=f"{count}")
            fields = [self._field([*path, str(k)], each) for k, each in enumerate(items)]
            return _Items(name, fields)
        if schema.get("type") == "object":
            raise UsageError(name, got="an object of any properties", wanted="declared ones")
        kinds = [schema[key] for key in ("type", "anyOf", "oneOf") if key in schema]
        raise UsageError(name, got=f"values of the kinds {brief(kinds)}", wanted="one kind")

    def _leaf(
        self, name: str, shape: tuple[int, ...], schema: Schema
    ) -> tuple[_Field, TensorSpec] | None:
        """The field of a value that is one tensor."""
        is_nullable = bool(schema.get("nullable"))
        if (choices := _choices(name, schema, is_alone=not shape)) is not None:
            spec = TensorSpec(name, "int64", shape, Discrete(len(choices)))
            places = {(type(each), each): place for place, each in enumerate(choices)}
            return _Choices(spec, choices, places), spec
        match schema.get("type"):
            case "boolean":  # an array: one alone is a choice
                spec = TensorSpec(name, "int8", shape, MultiBinary())
                return _Numbers(spec, "b"), spec
            case "integer" if not is_nullable:
                spec = TensorSpec(name, "int64", shape, self._integers(name, schema))
                return _Numbers(spec, "iu"), spec
            case "integer" | "number":
                spec = TensorSpec(name, "float64", shape, _box(*_bounds(name, schema, 0)))
                if is_nullable:
                    self.nullable.add(name)
                return _Numbers(spec, "iuf", is_nullable), spec
            case "string":
                least = _count(name, schema, "minLength", 0)
                most = _count(name, schema, "maxLength", max(least, MOST_CHARACTERS))
                text = Text(name, most, min_length=least)
                return _String(self._kind, text, is_nullable), text
        return None

    def _integers(self, name: str, schema: Schema) -> Domain:
        low, high = _bounds(name, schema, 1)
        if low is not None and high is not None:
            if high - low < _MOST_CHOICES:
                return Discrete(int(high - low) + 1, int(low))
        elif self._kind == "action":
            got = "an integer without both bounds: most integers are not valid actions"
            raise UsageError(name, got=got, wanted="minimum and maximum")
        return _box(low, high)


def _row(name: str, schema: Schema) -> tuple[tuple[int, ...], Schema]:
    """The shape of an array of numbers, and that of its elements; else () and `schema`."""
    shape, inner = list[int](), schema
    while inner.get("type") == "array" and not inner.get("nullable"):
        items = inner.get("items")
        if not isinstance(items, Mapping) or "prefixItems" in inner:
            return (), schema
        shape.append(_length(name, inner))
        inner = items
    is_number = inner.get("type") in ("boolean", "integer", "number") and not (
        inner.get("nullable") and inner["type"] != "number"
    )
    if not (is_number or _choices(name, inner, is_alone=False) is not None):
        return (), schema
    check_row(name, shape)
    return tuple(shape), inner


def _length(name: str, schema: Schema) -> int:
    """The size of an array."""
    least, most = _count(name, schema, "minItems", 0), _count(name, schema, "maxItems", -1)
    if most != least:
        raise UsageError(name, got="an array of any size", wanted="minItems equal to maxItems")
    return most


def _count(name: str, schema: Schema, key: str, default: int) -> int:
    count = schema.get(key, default)
    if type(count) is not int or (key in schema and count < 0):
        raise UsageError(name, got=f"{key} {brief(count)}", wanted="an integer of 0 or more")
    return count


def _choices(name: str, schema: Schema, *, is_alone: bool) -> list[Any] | None:
    """The allowed values, if the schema lists them; False and True for a boolean that `is_alone`.

    `is_alone`: it is not an element of an array.
    """
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is None and is_alone and schema.get("type") == "boolean":
        values = [False, True]
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(each, _SCALARS) for each in values):
        raise UsageError(name, got=f"the choices {brief(values)}", wanted="numbers and strings")
    return [*values, *([None] if schema.get("nullable") else [])]


def _bounds(name: str, schema: Schema, unit: int) -> tuple[float | None, float | None]:
    """The lower and the upper bound, None if there is none. `unit`: 1 for integers, else 0."""
    found: list[float | None] = []
    for key, exclusive, sign in (
        ("minimum", "exclusiveMinimum", 1),
        ("maximum", "exclusiveMaximum", -1),
    ):
        bound: float | None = None
        for each in (key, exclusive):
            if (value := schema.get(each)) is None:
                continue
            if type(value) not in (int, float) or abs(value) > _MOST:
                wanted = f"a number, at most {_MOST} in size"
                raise UsageError(name, got=f"{each} {brief(value)}", wanted=wanted)
            if each == exclusive and unit:
                value = math.floor(value) + 1 if sign > 0 else math.ceil(value) - 1
            elif each == exclusive:
                value = math.nextafter(value, sign * math.inf)
            elif unit:
                value = math.ceil(value) if sign > 0 else math.floor(value)
            bound = value if bound is None else sign * max(sign * bound, sign * value)
        found.append(bound)
    low, high = found
    if low is not None and high is not None and low > high:
        raise UsageError(name, got=f"numbers from {low} to {high}", wanted="minimum ≤ maximum")
    return low, high


def _box(low: float | None, high: float | None) -> Box:
    return Box(*(() if each is None else (float(each),) for each in (low, high)))


def _with_nan(value: Any) -> Any:
    """NaN for None, also in lists."""
    if isinstance(value, list):
        return [_with_nan(each) for each in value]
    return math.nan if value is None else value


def _wrong(name: str, value: Any, wanted: str) -> EnvironmentFault:
    return EnvironmentFault(name or "observation", got=brief(value), wanted=wanted)

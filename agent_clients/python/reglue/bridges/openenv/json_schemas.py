"""Simplify JSON schemas from a server, and apply a user's changes to them.

Source: JSON Schema 2020-12 as Pydantic writes it, and JSON merge patches, RFC 7396.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from reglue.error_message import brief
from reglue.errors import UsageError

Schema: TypeAlias = Mapping[str, Any]

_MOST_SCHEMAS = 10_000  # nested in one schema, once its references are replaced
_MOST_DEPTH = 32  # levels of nested schemas
_NULL = {"type": "null"}
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def properties_of(what: str, schema: Any) -> dict[str, Any]:
    """The properties of an object's schema, each a plain schema.

    A plain schema has no references. A choice between one schema and null becomes that schema with
    `nullable`; equal prefixItems become items. Raises UsageError.
    """
    plain = _Plain(schema.get("$defs") if isinstance(schema, Mapping) else {}).of(what, schema, 0)
    properties: dict[str, Any] = plain.get("properties", {})
    return properties


def patched(value: Any, patch: Any) -> Any:
    """A JSON value changed by a JSON merge patch: null removes a key."""
    if not isinstance(patch, Mapping):
        return patch
    changed = dict(value) if isinstance(value, Mapping) else {}
    for key, each in patch.items():
        if each is None:
            changed.pop(key, None)
        else:
            changed[key] = patched(changed.get(key), each)
    return changed


class _Plain:
    """Makes plain schemas of one schema and its definitions."""

    def __init__(self, definitions: Any) -> None:
        self._definitions = definitions if isinstance(definitions, Mapping) else {}
        self._count = 0

    def of(self, what: str, schema: Any, depth: int) -> dict[str, Any]:
        """The plain schema."""
        self._count += 1
        if depth > _MOST_DEPTH or self._count > _MOST_SCHEMAS:
            got = f"more than {_MOST_SCHEMAS} schemas, or {_MOST_DEPTH} levels of them"
            raise UsageError(what, got=got, wanted="fewer")
        whole = dict(_mapping(what, {} if schema is True else schema))
        if isinstance(name := whole.pop("$ref", None), str):
            name = name.removeprefix("#/$defs/")
            if name not in self._definitions:
                raise UsageError(what, got=f"a reference to {brief(name)}", wanted="one of $defs")
            referred = _mapping(what, self._definitions[name])
            return self.of(what, {**referred, **whole}, depth + 1)
        for key in _ALTERNATIVES:
            others = [each for each in _list(what, whole.get(key, [])) if each != _NULL]
            if len(others) == 1:
                nullable = {"nullable": True} if _NULL in whole.pop(key) else {}
                return self.of(what, {**_mapping(what, others[0]), **whole, **nullable}, depth + 1)
        if "properties" in whole:
            whole["properties"] = {
                name: self.of(f"{what}, property {brief(name)}", each, depth + 1)
                for name, each in _mapping(what, whole["properties"]).items()
            }
        if "prefixItems" in whole:
            items = _list(what, whole["prefixItems"])
            whole["prefixItems"] = [self.of(what, each, depth + 1) for each in items]
            if len(items) == whole.get("maxItems") and _are_equal(whole["prefixItems"]):
                whole["items"] = whole.pop("prefixItems")[0]
                return whole
        if isinstance(whole.get("items"), Mapping):
            whole["items"] = self.of(what, whole["items"], depth + 1)
        return whole


def _are_equal(values: Sequence[Any]) -> bool:
    return bool(values) and all(each == values[0] for each in values)


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(what, got=brief(value), wanted="a JSON schema")
    return value


def _list(what: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(what, got=brief(value), wanted="a list of JSON schemas")
    return value

"""The dataclass for values that are made in every turn or episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Value = TypeVar("_Value")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[_Value]) -> type[_Value]:
    """A frozen dataclass with slots; only the type checker enforces that it is frozen.

    What dataclasses do to keep it so at run time makes it six times as dear, and a turn
    makes a dozen.
    """
    return dataclass(slots=True)(cls)

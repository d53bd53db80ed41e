"""Numbers in a config: within bounds, or a distribution whose draws are brought within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    GetCoreSchemaHandler,
    Strict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from env_adapters.configs import JSON
from env_adapters.configs.distributions import is_distribution
from env_adapters.configs.values import is_finite, is_number

SAMPLED = "sampled"
"""Context of a validation: the config is an episode's, so what was drawn beyond a bound is cut
to it, what should be whole is rounded, and no distribution is left."""

_BLACK = [0, 0, 0]  # stands for whatever a distribution of colours gives
_ENDS = {"uniform": ("low", "high"), "normal": ("mean",), "gaussian": ("mean",)}


@dataclass(frozen=True, slots=True)
class Within:
    """Annotates a finite number of `low` to `high`, whole where `low` is an int.

    `word` is what may stand in the number's place.
    """

    low: float
    high: float
    word: str | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._checked)

    def _checked(self, value: object, info: ValidationInfo) -> float | str:
        if isinstance(value, str) and value == self.word:
            return value
        if not is_number(value) or not is_finite(value):
            raise self._refusal()
        whole = isinstance(self.low, int)
        if info.context == SAMPLED:
            value = min(max(round(value) if whole else value, self.low), self.high)
        if not self.low <= value <= self.high or (whole and value != int(value)):
            raise self._refusal()
        return int(value) if whole else float(value)

    def _refusal(self) -> PydanticCustomError:
        kind = "a whole number" if isinstance(self.low, int) else "a number"
        word = f' or "{self.word}"' if self.word else ""
        return PydanticCustomError("within", f"{kind} of {self.low} to {self.high}{word}")


def _or_drawn(value: JSON, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """A distribution stays as it is, if what it is drawn around is legal."""
    if not is_distribution(value):
        return check(value)
    if info.context == SAMPLED:
        raise PydanticCustomError("drawn", "what was drawn of it")
    name = value["distribution"]
    try:
        for end in [value[key] for key in _ENDS[name]] if name in _ENDS else [_BLACK]:
            check(end)
    except ValidationError as error:
        raise PydanticCustomError("drawn", f"draws that are {wanted(error.errors()[0])}") from error
    return value


def wanted(error: ErrorDetails) -> str:
    """What a validation would have had."""
    match error["type"]:
        case "string_type":
            return "text"
        case "bool_type":
            return "true or false"
        case "literal_error":
            return str(error["ctx"]["expected"])
        case "model_type" | "dict_type":
            return "a table of keys and values"
        case "invalid_key":
            return "keys that are text"
        case "tuple_type" | "too_long" | "missing":
            return "a list of numbers, as many as the default has"
        case _:
            return error["msg"]


OR_DRAWN = WrapValidator(_or_drawn)

Channel = Annotated[int, Within(0, 255), OR_DRAWN]
Color = Annotated[tuple[Channel, Channel, Channel], Strict(False), OR_DRAWN]
"""Red, green and blue; in a dumped config a list."""

Place = Annotated[float, Within(-1.0, 1.0), OR_DRAWN]
Extent = Annotated[float, Within(0.01, 2.0), OR_DRAWN]
Area = Annotated[tuple[Place, Place, Extent, Extent], Strict(False), OR_DRAWN]
"""Left, top, width and height, in sides of the screen."""

Size = Annotated[float, Within(0.01, 0.5), OR_DRAWN]
Speed = Annotated[float, Within(0.0, 0.2), OR_DRAWN]
"""Sides of the screen a tick; a step has two."""

Share = Annotated[float, Within(0.0, 1.0), OR_DRAWN]
Shift = Annotated[float, Within(-1.0, 1.0), OR_DRAWN]
Count = Annotated[int, Within(1, 30), OR_DRAWN]
Points = Annotated[float, Within(-100.0, 100.0), OR_DRAWN]

"""Numbers in a config: within bounds, or a distribution whose draws are brought within them."""

from __future__ import annotations

import math
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
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from env_adapters.configs import JSON
from env_adapters.configs.distributions import is_distribution
from env_adapters.configs.values import is_number

SAMPLED = "sampled"
"""Context of a validation: the config is an episode's, so what was drawn beyond a bound is cut
to it, and no distribution is left."""

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
        whole = isinstance(self.low, int)
        if not is_number(value) or not math.isfinite(value) or (whole and value != int(value)):
            raise self._refusal()
        if info.context == SAMPLED:
            value = min(max(value, self.low), self.high)
        if not self.low <= value <= self.high:
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
        wanted = error.errors()[0]["msg"]
        raise PydanticCustomError("drawn", f"draws that are {wanted}") from error
    return value


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

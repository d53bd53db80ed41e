"""Episodes of a result: a row each, kept packed, as a run may have hundreds of thousands."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, overload

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Whole: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
EpisodePhase = Literal["train", "adapt", "evaluate_before", "evaluate"]
EpisodeStatus = Literal[
    "ok",
    "agent_error",
    "agent_timeout",
    "agent_disconnected",
    "agent_abandoned",
    "environment_error",
]

_WORDS = ("task", "phase", "status")
_WIDTHS = "BHIQ"  # of an unsigned number, as `array` names them


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """The outcome of one cell; the unit's last complete try."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    unit: Whole
    k: Whole
    attempt: Annotated[Whole, Field(alias="try")]
    task: str
    variant: Whole
    repeat: Whole
    phase: EpisodePhase
    status: EpisodeStatus
    success: bool
    return_: Annotated[float, Field(alias="return")]
    steps: Whole


class Episodes(Sequence[EpisodeRow]):
    """Rows in the order in which they were added, some 25 bytes each; made when asked for."""

    def __init__(self, rows: Iterable[EpisodeRow] = ()) -> None:
        self._words: dict[str, int] = {}  # tasks, phases and statuses -> the number kept of each
        self._spelt: list[str] = []  # and back
        self._numbers: dict[str, array[Any]] = {
            name: array(_WIDTHS[0]) for name in EpisodeRow.__slots__
        }
        self._numbers["return_"] = array("d")
        for row in rows:
            self.add(row)

    def add(self, row: EpisodeRow) -> None:
        """One more, at the end."""
        for name in self._numbers:
            value = getattr(row, name)
            self._append(name, self._number(value) if isinstance(value, str) else value)

    def __len__(self) -> int:
        return len(self._numbers["unit"])

    @overload
    def __getitem__(self, place: int) -> EpisodeRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[EpisodeRow]: ...

    def __getitem__(self, place: int | slice) -> EpisodeRow | list[EpisodeRow]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        row: dict[str, Any] = {name: each[place] for name, each in self._numbers.items()}
        for name in _WORDS:
            row[name] = self._spelt[row[name]]
        row["success"] = bool(row["success"])
        return EpisodeRow(**row)

    def __eq__(self, other: object) -> bool:
        """Whether all rows are equal."""
        if not isinstance(other, Episodes):
            return NotImplemented
        return self._numbers == other._numbers and self._spelt == other._spelt

    __hash__ = None  # type: ignore[assignment]

    def _number(self, word: str) -> int:
        if word not in self._words:
            self._words[word] = len(self._spelt)
            self._spelt.append(word)
        return self._words[word]

    def _append(self, name: str, value: float) -> None:
        try:
            self._numbers[name].append(value)
        except OverflowError:
            narrow = self._numbers[name]
            wider = _WIDTHS[_WIDTHS.index(narrow.typecode) + 1]
            self._numbers[name] = array(wider, narrow)
            self._append(name, value)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Of any iterable of rows, each validated as it is packed; given out as a list."""
        return core_schema.no_info_wrap_validator_function(
            lambda given, read: given if isinstance(given, cls) else cls(read(given)),
            handler.generate_schema(Iterable[EpisodeRow]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=handler.generate_schema(list[EpisodeRow])
            ),
        )

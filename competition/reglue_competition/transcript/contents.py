"""The contents of a transcript's records: the header, episodes, and the score.

The header and the score are JSON. An episode is the length of its JSON (u32), its JSON, its
actions and its rewards.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from glue_server import Order
from reglue.error_message import printable
from reglue.errors import TranscriptDamaged
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.replay.recorded import order_of
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import Row
from reglue_competition.transcript.framing import Place

_LENGTH = struct.Struct("<I")
_MOST_JSON = 1 << 20  # bytes, of an episode's

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Name = Annotated[str, Field(max_length=1000)]
_Key = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]


class _Content(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        populate_by_name=True,
        ser_json_inf_nan="constants",
    )

    def to_json(self) -> bytes:
        """The JSON that a record holds."""
        return self.model_dump_json(by_alias=True).encode()


class Header(_Content):
    """The run that was played, and everything that a replay of it needs."""

    competition: _Name  # its name
    phase: _Name  # its name
    submission: _Name  # its id
    draw: _Count  # of its goals and cells: 0 those of all, else some of its own
    team: _Name  # its name
    agent: _Name  # its name
    index: _Count  # of the benchmark in the phase, from 0
    public_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # of who signed
    benchmark: _Name  # as `reglue bench` takes it
    plan: str  # the plan's JSON, as text
    cell_key: _Key  # draws cells' seeds; empty if these follow from the plan's
    start_key: _Key  # draws the agent's seeds
    spec: str  # TaskSpec of `spec.proto`, hexadecimal
    code: _Key  # SHA-256 of its environments' files; empty if all are Reglue's
    versions: dict[_Name, _Name]  # of what episodes depend on, where it was played
    limits: dict[_Name, bool | float | None]  # of the agent's time, seconds; null: none


class PlannedCell(_Content):
    """An episode as the plan and the keys define it."""

    task: str  # its name
    variant: int  # of the task
    seed: int  # of the environment
    repeat: int  # tells planned repetitions apart
    phase: str  # train, adapt, evaluate_before, evaluate, checkpoint or checkpoint_adapt
    start_seed: int  # the agent's, 64 bits
    steps_before: int  # of its unit, in earlier episodes
    max_steps: int  # after which it is cut off; 0: the plan has no limit


class EpisodeJson(_Content):
    """An episode without its actions and rewards."""

    unit: _Count  # of the plan, from 0
    attempt: _Count = Field(alias="try")  # how often the unit was played before
    k: _Count  # in the unit, from 0
    cell: PlannedCell  # what the plan says of it
    status: _Name  # ok, or whose fault ended it
    success: bool  # whether the task's flag was set at some step
    first_success: _Count  # the step, from 1, at which it was first set; 0: no success
    return_: FiniteFloat = Field(alias="return")  # sum of rewards in the order of steps
    steps: _Count  # actions that were played
    clipped: _Count  # steps whose action was out of bounds
    defaulted: _Count = 0  # steps for which the agent was too late, so that a default was played
    detail: str  # what happened, where the status is not ok
    action_bytes: _Count  # that follow; 0: not kept
    reward_bytes: _Count  # that follow them; 0: not kept

    @property
    def row(self) -> Row:
        """The episode as a row of a ledger."""
        return Row(**{name: getattr(self, name) for name in Row.__slots__})


class Score(_Content):
    """The run's score as the organiser states it."""

    episodes: _Count  # records before this one
    result: Result  # the score


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode."""

    facts: EpisodeJson
    actions: bytes  # as on the wire, step by step; empty: not kept
    rewards: npt.NDArray[np.float64] | None  # (steps,); None: not kept

    def to_bytes(self) -> bytes:
        """The bytes that a record holds."""
        text = self.facts.to_json()
        rewards = b"" if self.rewards is None else self.rewards.astype("<f8").tobytes()
        return b"".join((_LENGTH.pack(len(text)), text, self.actions, rewards))

    @classmethod
    def from_bytes(cls, content: bytes, place: Place) -> Episode:
        """A stranger's. Raises TranscriptDamaged."""
        if len(content) < _LENGTH.size:
            raise place.damaged(f"got an episode of {len(content)} bytes")
        (length,) = _LENGTH.unpack_from(content)
        if length > min(_MOST_JSON, len(content) - _LENGTH.size):
            raise place.damaged(f"got {length} bytes of JSON, more than there can be")
        facts = read_content(EpisodeJson, content[_LENGTH.size : _LENGTH.size + length], place)
        actions_at = _LENGTH.size + length
        rewards_at = actions_at + facts.action_bytes
        if rewards_at + facts.reward_bytes != len(content):
            got = f"{len(content) - actions_at} bytes"
            wanted = f"{facts.action_bytes} of actions and {facts.reward_bytes} of rewards"
            raise place.damaged(got=got, wanted=wanted)
        if facts.reward_bytes not in (0, 8 * facts.steps):
            raise place.damaged(
                got=f"{facts.reward_bytes} bytes of rewards", wanted=f"those of {facts.steps} steps"
            )
        rewards = np.frombuffer(content, "<f8", offset=rewards_at) if facts.reward_bytes else None
        return cls(facts, content[actions_at:rewards_at], rewards)


class PlannedCells:
    """The episodes of one run, as its plan defines them."""

    def __init__(self, plan: Plan, cell_key: bytes | None, start_key: bytes) -> None:
        """Raises UsageError for a plan that no procedure plays."""
        self.plan, self._cell_key, self._start_key = plan, cell_key, start_key
        self.procedure = procedure_of(plan)

    def order(self, row: Row, steps_before: int) -> Order:
        """The order of a row's episode. Raises LookupError if the plan has no such episode."""
        if row.unit >= self.procedure.units or self.most_steps(row, steps_before) <= 0:
            raise LookupError(f"episode {row.k} of unit {row.unit}")
        return order_of(self.plan, row, steps_before, self._cell_key, self._start_key)

    def most_steps(self, row: Row, steps_before: int) -> float:
        """The most steps of the episode; infinite if the plan has no limit."""
        return self.procedure.steps_left(row.k, steps_before)

    def planned_cell(self, row: Row, steps_before: int) -> PlannedCell:
        """The planned cell, as a transcript states it. Raises LookupError."""
        order = self.order(row, steps_before)
        most = self.most_steps(row, steps_before)
        return PlannedCell(
            task=order.cell.task,
            variant=order.cell.variant,
            seed=order.cell.seed,
            repeat=order.cell.repeat,
            phase=self.procedure.cell(row.unit, row.k).phase,
            start_seed=order.start_seed,
            steps_before=steps_before,
            max_steps=0 if math.isinf(most) else int(most),
        )


_Model = TypeVar("_Model", bound=_Content)


def read_content(model: type[_Model], content: bytes, place: Place) -> _Model:
    """A stranger's JSON. Raises TranscriptDamaged that names the field."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise _damaged(error, place) from error


def _damaged(error: ValidationError, place: Place) -> TranscriptDamaged:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = printable(".".join(map(str, first["loc"]))[:100]) or "its JSON"
    return place.damaged(f"{field}: {first['msg'][:200]}")

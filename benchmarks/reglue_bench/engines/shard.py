"""What a shard's process is told, and what it says."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from glue_server import Order, Outcome
from reglue_bench.procedures.procedure import Todo, Todos

AsPlanned: TypeAlias = Callable[[int, int], Order]
"""The order of a unit's episode k."""

Played: TypeAlias = tuple[Todo, list[Outcome]]


@dataclass(frozen=True, slots=True)
class ShardTold:
    """What a process is to play shards of."""

    settings: Mapping[str, Any]  # of Settings
    plan: str  # JSON, as the ledger has it
    folder: str  # of the run; empty: it makes one of its own, and `files` are put there
    agent_log: str  # the file there for what its agents print
    starts: str  # the key of start seeds, hexadecimal
    cells: str  # the key of cells; empty where they are public
    facts: Mapping[str, str] = field(default_factory=dict)  # that must hold there too: see `facts`
    files: Mapping[str, int] = field(default_factory=dict)  # name -> bytes of it in `bodies`
    bodies: bytes = b""  # of files, one after another: a frame's body

    def to_json(self) -> dict[str, Any]:
        """As a frame's head."""
        return {each.name: getattr(self, each.name) for each in fields(self)[:-1]}


def todo_head(todo: Todos) -> dict[str, Any]:
    """A frame's head: the units of a shard."""
    return {"units": todo.units.tolist(), "attempts": todo.attempts.tolist()}


def todo_of(head: Mapping[str, Any]) -> Todos:
    """What `todo_head` made."""
    return Todos(array("I", head["units"]), array("I", head["attempts"]))


def played_frame(todo: Todo, outcomes: Sequence[Outcome]) -> tuple[dict[str, Any], bytes]:
    """A frame's head and body: a unit's outcomes."""
    head = {"attempt": todo.attempt, "outcomes": [*map(outcome_head, outcomes)]}
    return head, b"".join(each.actions + each.rewards for each in outcomes)


def played_of(head: Mapping[str, Any], body: memoryview, as_planned: AsPlanned) -> Played:
    """What `played_frame` made."""
    outcomes, start = [], 0
    for each in head["outcomes"]:
        middle = start + each["actions"]
        end = middle + each["rewards"]
        outcome = outcome_of(each, as_planned)
        actions, rewards = bytes(body[start:middle]), bytes(body[middle:end])
        outcomes.append(replace(outcome, actions=actions, rewards=rewards))
        start = end
    return Todo(outcomes[0].order.unit, head["attempt"]), outcomes


def outcome_head(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON: of its actions and rewards the number of bytes."""
    columns = {name: getattr(outcome, name) for name in _COLUMNS}
    sizes = {"actions": len(outcome.actions), "rewards": len(outcome.rewards)}
    return {"unit": outcome.order.unit, "k": outcome.order.k, **columns, **sizes}


def outcome_of(head: Mapping[str, Any], as_planned: AsPlanned) -> Outcome:
    """What `outcome_head` made, without actions and rewards."""
    columns = {name: head[name] for name in _COLUMNS}
    return Outcome(as_planned(head["unit"], head["k"]), **columns)


_COLUMNS = (
    *("status", "success", "first_success", "return_", "steps"),
    *("clipped", "defaulted", "detail"),
)

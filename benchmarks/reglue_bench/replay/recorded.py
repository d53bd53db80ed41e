"""Reads from a run's ledger what it takes to play an episode again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from env_adapters import SuiteName
from glue_server import Order
from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.benchmark.declared import is_remote
from reglue_bench.engines.run_identity import versions
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES, procedure_of
from reglue_bench.runs.ledger import LedgerReader, Row
from reglue_bench.runs.run import cell_key_of
from reglue_bench.runs.trust import check_trusted
from reglue_bench.settings import Settings

_MOST_RANGES = 8  # that a message lists


@dataclass(frozen=True, slots=True)
class Recorded:
    """An episode of at least one step, from the last try of its unit."""

    plan: Plan
    suite: SuiteName  # the plan's, its file named from the root
    order: Order
    row: Row
    actions: bytes  # as on the wire, step by step
    rewards: npt.NDArray[np.float64] | None  # (steps,); None if the ledger keeps none
    cut_off: bool  # by the run's own limit: the environment would have gone on
    changes: Sequence[str]  # of versions since: `mujoco 3.3.0 before, 3.17.0 now`

    @property
    def title(self) -> str:
        """The episode's benchmark, unit, cell and status, in a line."""
        cell, row, kind = self.order.cell, self.row, PROCEDURES[self.plan.procedure].unit
        return (
            f"{self.plan.benchmark}: {kind} {row.unit}, episode {row.k}; {cell.task}, variant "
            f"{cell.variant}, repeat {cell.repeat}; {row.status}"
        )


def read_episode(
    folder: Path, episode: int, unit: int | None = None, *, trust_code: bool = False
) -> Recorded:
    """Episode number `episode`, from 0, of a unit of the run in `folder`.

    Without a unit, that of the first one; in multi-task runs each episode is a unit.
    Raises UsageError if there is no such run or episode, or if it cannot be played here, and
    NotTrusted if that would run code that is not Reglue's, unless `trust_code`.
    """
    with LedgerReader(folder) as ledger:
        about = ledger.about
        plan = Plan.from_json(about["plan"])
        check_replayable(plan)
        check_trusted(folder, about, trust_code=trust_code)
        settings = Settings.model_validate_json(about["settings"])
        suite = suite_of(plan, settings)
        row, steps_before = _find(ledger, plan, episode, unit)
        if row.steps == 0:
            why = row.detail.splitlines()[0] if row.detail else "nothing more is known"
            raise UsageError(
                f"{_name(plan, row)} ended before its first step, by {row.status}: {why}; "
                "there is nothing to watch"
            )
        actions = ledger.actions(row.unit, row.attempt, row.k)
        if not actions:
            raise UsageError(
                f"{_name(plan, row)} is one of training, whose actions are not kept; watch one "
                "that was judged: they come first, from --episode 0"
            )
        rewards = ledger.rewards(row.unit, row.attempt, row.k)
    return Recorded(
        plan=plan,
        suite=suite,
        order=order_of(plan, row, steps_before, cell_key_of(about)),
        row=row,
        actions=actions,
        rewards=rewards if len(rewards) else None,
        cut_off=row.steps >= procedure_of(plan).steps_left(row.k, steps_before),
        changes=changes_since(about, suite),
    )


def check_replayable(plan: Plan) -> None:
    """Raise UsageError if the plan's environment connected, or was an object of a program."""
    if is_remote(plan):
        raise UsageError(
            f"the environment of this run, {plan.parameters.get('environment')}, connected by "
            "itself or was an object of a program: its episodes cannot be played again here; watch "
            "it where it runs"
        )


def order_of(
    plan: Plan, row: Row, steps_before: int, cell_key: bytes | None, starts: bytes = b""
) -> Order:
    """The order of an episode, after `steps_before` steps of its unit.

    `starts` keys its start seed, which the environment does not depend on.
    """
    procedure = procedure_of(plan)
    order = plan.order(row.unit, procedure.cell(row.unit, row.k), starts, cell_key)
    return procedure.after_steps(order, steps_before)


def changes_since(about: Mapping[str, str], suite: SuiteName) -> list[str]:
    """Versions that changed since the run began: `mujoco 3.3.0 before, 3.17.0 now`."""
    now = versions(suite)
    before = {
        name.removeprefix("version "): value
        for name, value in about.items()
        if name.startswith("version ")
    }
    return [
        f"{name} {before.get(name, 'none')} before, {now.get(name, 'none')} now"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]


def rows_of(ledger: LedgerReader, unit: int) -> list[Row]:
    """The episodes of a unit's last try."""
    ahead = dropwhile(lambda row: row.unit < unit, ledger.rows())
    return list(takewhile(lambda row: row.unit == unit, ahead))


def _find(ledger: LedgerReader, plan: Plan, episode: int, unit: int | None) -> tuple[Row, int]:
    """The row, and the steps of its unit before it. Raises UsageError that lists the known ones."""
    single = unit is None and PROCEDURES[plan.procedure].unit == "unit"
    wanted, k = (episode, 0) if single else (unit or 0, episode)
    rows = rows_of(ledger, wanted)
    for place, row in enumerate(rows):
        if row.k == k:
            return row, sum(before.steps for before in rows[:place])
    kind = PROCEDURES[plan.procedure].unit
    if rows:
        there = f"{_ranges(row.k for row in rows)}, of {kind} {wanted}"
        raise UsageError(got=f"--episode {k}", wanted=there)
    units = sorted({row.unit for row in ledger.rows()})
    what = "--episode" if single else "--unit"
    raise UsageError(got=f"{what} {wanted}", wanted=f"one of {_ranges(units) or 'none'}")


def _name(plan: Plan, row: Row) -> str:
    return f"episode {row.k} of {PROCEDURES[plan.procedure].unit} {row.unit}"


def _ranges(numbers: Iterable[int]) -> str:
    """`0 to 3, 7`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    parts = [f"{a}" if a == b else f"{a} to {b}" for a, b in ranges[:_MOST_RANGES]]
    return ", ".join(parts) + ", …" * (len(ranges) > _MOST_RANGES)

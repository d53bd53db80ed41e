"""Alterations of recorded runs, for the messages about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from env_adapters import SuiteName
from reglue_bench.plans.plan import Plan
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.trust import SIGNATURE, signature
from tests.reglue_bench.ledgers import change_fact, seal

Watch = Callable[..., tuple[int, str, str]]
"""Runs the command: its exit code, and what it says on stdout and stderr."""

PONG = "Reglue/Arcade-v0"
ARCADE = SuiteName("env_adapters.gymnasium:Gymnasium", {"id": PONG})


def altered(folder: Path, **columns: object) -> None:
    """All its outcomes have these values."""
    new = ", ".join(f"{name} = ?" for name in columns)
    with Ledger(folder) as ledger:
        ledger._connection.execute(f"UPDATE outcome SET {new}", [*columns.values()])
    seal(folder)


def with_suite(folder: Path, suite: SuiteName, *, by_its_user: bool = True) -> None:
    """Has the run's plan name another environment, as if it had been begun with it."""
    with Ledger(folder) as ledger:
        about = ledger.about
    plan = dataclasses.replace(Plan.from_json(about["plan"]), suite=suite).to_json()
    change_fact(folder, "plan", plan)
    if by_its_user:
        change_fact(folder, SIGNATURE, signature(plan, about["settings"]))

"""What recorded runs are turned into, to see what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from env_adapters import SuiteName
from reglue_bench.ledger import Ledger
from reglue_bench.plan import Plan
from tests.reglue_bench.ledgers import change_fact, seal

Watch = Callable[..., tuple[int, str, str]]
"""Runs the command: its exit code, and what it says on stdout and stderr."""

PONG = "Reglue/Arcade-v0"
ARCADE = SuiteName("env_adapters.gymnasium:Gymnasium", {"id": PONG})


def altered(folder: Path, statement: sa.Update) -> None:
    with Ledger(folder) as ledger, ledger._engine.begin() as connection:
        connection.execute(statement)
    seal(folder)


def with_suite(folder: Path, suite: SuiteName) -> None:
    """Has the run's plan name another environment."""
    with Ledger(folder) as ledger:
        plan = dataclasses.replace(Plan.from_json(ledger.about["plan"]), suite=suite)
    change_fact(folder, "plan", plan.to_json())

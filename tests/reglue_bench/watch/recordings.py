"""What recorded runs are turned into, to see what is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from env_adapters import SuiteName
from reglue_bench import tables
from reglue_bench.ledger import FILE
from reglue_bench.plan import Plan

Watch = Callable[..., tuple[int, str, str]]
"""Runs the command: its exit code, and what it says on stdout and stderr."""

PONG = "Reglue/Arcade-v0"
ARCADE = SuiteName("env_adapters.gymnasium:Gymnasium", {"id": PONG})


def altered(folder: Path, statement: sa.Update) -> None:
    engine = sa.create_engine(f"sqlite:///{folder / FILE}")
    with engine.begin() as connection:
        connection.execute(statement)
    engine.dispose()


def with_suite(folder: Path, suite: SuiteName) -> None:
    """Has the run's plan name another environment."""
    about = tables.about
    engine = sa.create_engine(f"sqlite:///{folder / FILE}")
    with engine.begin() as connection:
        text = connection.execute(sa.select(about.c.value).where(about.c.name == "plan"))
        plan = dataclasses.replace(Plan.from_json(text.scalar_one()), suite=suite)
        changed = sa.update(about).where(about.c.name == "plan").values(value=plan.to_json())
        connection.execute(changed)
    engine.dispose()

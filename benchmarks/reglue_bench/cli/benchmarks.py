"""`reglue benchmarks`: what there is."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Annotated

from rich.table import Table
from rich.text import Text
from typer import Argument

from env_adapters.metaworld import catalogue, task_set
from reglue.errors import UsageError
from reglue_bench.benchmarks import PROCEDURES
from reglue_bench.cli.command import console, run_command
from reglue_bench.procedures.meta_learning import GOALS


def benchmarks(
    name: Annotated[str | None, Argument(help="say more of this one: its tasks, in order")] = None,
) -> None:
    """List the benchmarks: their tasks, variants (goals) and procedure.

    `reglue benchmarks ML10` lists the tasks of one.
    """
    console().print(_one(name) if name else _all())


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    run_command(benchmarks, sys.argv[1:] if argv is None else argv)


def _all() -> Table:
    table = Table(title="benchmarks")
    table.add_column("name", overflow="fold")
    for column in ("tasks", "goal", "variants", "procedure"):
        table.add_column(column)
    for name, what in catalogue().items():
        family = name[:2]
        tasks, goal = what.rsplit(", goal ", 1)
        played = "50 a task" if family == "MT" else f"{GOALS} a task"
        table.add_row(name, tasks, goal, played, PROCEDURES[family])
    table.caption = (
        "multi-task: a frozen agent plays every goal; meta-learning: it adapts to a goal first. "
        "Success is the flag at any step. `reglue benchmarks NAME` lists the tasks."
    )
    return table


def _one(name: str) -> Table:
    sets = [task_set(name)]
    if sets[0].family == "ML":
        with contextlib.suppress(UsageError):  # an own list need not have both
            sets.insert(0, task_set(name, "train"))
    table = Table(title=Text(f"{name}, {PROCEDURES[sets[0].family]}"))
    for tasks in sets:
        table.add_column(f"{tasks.split}, {len(tasks.tasks)} tasks")
    for place in range(max(len(tasks.tasks) for tasks in sets)):
        table.add_row(*(t.tasks[place] if place < len(t.tasks) else "" for t in sets))
    return table

"""`reglue export`: a run's episodes as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from glue_server.commands.command import Command
from glue_server.console import say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue.tools.outputs import product

Format = Literal["csv", "jsonl", "parquet"]


def export(
    run: Annotated[Path, Argument(metavar="FOLDER", help="folder of a run")],
    form: Annotated[Format, Option("--format", help="how to write it")] = "csv",
    out: Annotated[
        Path | None, Option(metavar="FILE", help="where to write it (default: standard output)")
    ] = None,
) -> None:
    """Write a run's episodes as a table, one row for each, in the order of units and cells.

    reglue export runs/mine > mine.csv

    reglue export runs/mine --format parquet --out mine.parquet

    The columns:

    - `unit`, `k` (integers): the episode's place in the plan: the k-th episode of the unit.

    - `try` (integer): how often the unit was played before. Rows are of its last try.

    - `task` (text), `variant`, `repeat` (integers): the cell; `repeat` counts its repetitions.

    - `seed` (integer): of the cell's random numbers; in `evaluate:` runs what the environment's
    own `reset(seed=)` was given. Empty if a secret keys it.

    - `phase` (text): evaluate, evaluate_before, adapt or train; of checkpoints in training
    checkpoint or checkpoint_adapt.

    - `status` (text): ok, or what ended the episode: agent_error, agent_timeout,
    agent_disconnected, agent_abandoned, environment_error, environment_lost (in the middle of it),
    or crashed: the environment failed, and again when the same actions were played in a fresh
    one, or the sum of rewards was not finite, which counts as a failure.

    - `success` (true or false): whether the task's success flag was set at some step.

    - `first_success` (integer): the step, from 1, that first set the flag; 0 without success.

    - `return` (64-bit float): the sum of rewards, or the largest number of its sign if that is
    not finite.

    - `steps`, `clipped`, `defaulted` (integers): actions, how many of them were out of bounds,
    and how many came too late, so that a default was played.

    - `detail` (text): what happened, where the status is not ok.

    A run in progress is written up to its last episode. Parquet needs PyArrow:
    `pip install 'reglue[parquet]'`.

    Exit codes: 0 written; 1 a damaged run or a full disk; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.results.episodes import Episodes
        from reglue_bench.results.result_tables import write_table
        from reglue_bench.results.whole_file import whole_file
        from reglue_bench.runs.ledger import LedgerReader, warn_of_lost_journal

    LedgerReader(run).close()  # before a file is made
    warn_of_lost_journal(run)
    rows = (episode.values for episode in Episodes(run))
    if out is None:
        if form == "parquet" and sys.stdout.isatty():
            raise UsageError("Parquet is binary, and stdout is a terminal: give --out FILE")
        with product():
            write_table(rows, sys.stdout.buffer, form)
        return
    try:
        with whole_file(out) as file:
            write_table(rows, file, form)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    say(str(out))


main = Command(export)

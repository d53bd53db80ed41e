"""`reglue bench --training-seeds`: several training seeds of one agent, and what they say of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from glue_server.commands.command import FAULTS, INTERRUPTED, OK
from reglue_bench.bakeoff import REPORT, Bakeoff, Entrant
from reglue_bench.bakeoff.bakeoff_runs import is_interrupted
from reglue_bench.cli.bakeoff_screen import Screen
from reglue_bench.cli.shared_flags import exit_code
from reglue_bench.measures.seed_statistics import LEAST_SEEDS
from reglue_bench.plots.compared import score_and_interval
from reglue_bench.report.page import draw_report
from reglue_bench.results.result import Result
from reglue_bench.terminal.progress import watcher


def play_seeds(
    entrants: Sequence[Entrant], folder: Path, output: Console, *, at_once: int, resume: bool
) -> int:
    """Play a run for each training seed, one after another or some at once; the exit code.

    As in a bake-off, a fault of one does not stop the others. Raises UsageError.
    """
    screen = Screen(output, entrants, together=at_once > 1)
    with Bakeoff(entrants, folder, screen.say, at_once=at_once) as played:
        played.prepare(watcher(output), resume=resume)
        runs = played.play(screen)
    results = [result for _, result in runs]
    if len(results) < len(entrants) - len(played.refused) or any(map(is_interrupted, results)):
        screen.say(f"interrupted; `reglue bench --resume {folder}` continues")
        return INTERRUPTED
    named_results = [(entrant.name, result) for entrant, result in runs]
    page = draw_report(named_results)
    output.print(_table(named_results))
    seeds = page.comparison.seeds if page.comparison else None
    for row in seeds.table.rows if seeds else ():
        name, _, mean, iqm = (cell.replace("\n", ", 95 % interval ") for cell in row)
        screen.say(f"{name}, mean over training seeds: {mean}")
        screen.say(f"interquartile mean: {iqm}")
    if len(results) < LEAST_SEEDS:
        screen.say(f"{len(results)} training seeds: there is no interval below {LEAST_SEEDS}")
    screen.say(f"{page.write(folder / REPORT)}; `reglue report {folder} OTHER` compares agents")
    if played.refused:
        return FAULTS
    return OK if all(exit_code(result) == OK for result in results) else FAULTS


def _table(named_results: Sequence[tuple[str, Result]]) -> Table:
    first = named_results[0][1]
    table = Table(title=f"{first.agent.label} on {first.title}, seed {first.seed}")
    for heading in ("training seed", first.measure.name, "95 % interval, this seed alone"):
        table.add_column(heading, justify="right")
    for _, result in named_results:
        score, interval = score_and_interval(result)
        table.add_row(str(result.agent.training_seed), score or "no score", interval or "–")
    return table

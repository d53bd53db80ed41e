"""Measures Reglue beside other libraries, and writes RESULTS.md and results.svg.

`make speed` runs it in its own environment, `.venv-speed`, where these are installed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from speed.launches import Scale, Section, Watch
from speed.results import Results, begun, draw, number, page, read
from speed.sections import (
    batched_speed,
    competition_speed,
    engines,
    evaluation_speed,
    growth,
    light_speed,
    stepped_speed,
    steps_speed,
    turns,
)

SECTIONS: dict[str, Callable[[Scale, Watch], Section]] = {
    "evaluation": evaluation_speed.evaluation,
    "meta_learning": evaluation_speed.meta_learning,
    "steps": steps_speed.steps,
    "turns": turns.turns,
    "streams": turns.streams,
    "pieces": turns.pieces,
    "growth": growth.growth,
    "arcade": steps_speed.arcade,
    "light": light_speed.light,
    "batched": batched_speed.batched,
    "stepped": stepped_speed.stepped,
    "engines": engines.engines,
    "competition": competition_speed.on_sqlite,
    "competition_postgresql": competition_speed.on_postgresql,
}
HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "build/speed"
"""The folder of samples, so that sections can be measured one by one."""


def main(
    only: Annotated[
        list[str] | None, typer.Option(help=f"sections to measure, of {', '.join(SECTIONS)}")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="a smoke run of all sections: its figures say little")
    ] = False,
    long: Annotated[
        bool,
        typer.Option(
            "--long",
            help="also what takes ten minutes: the 1.1 million steps of ML10's test, 30 runs",
        ),
    ] = False,
    render: Annotated[
        bool, typer.Option("--render", help="measure nothing: write the page and plot again")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="where to write all (default: samples to build/speed; --quick: nowhere)"),
    ] = None,
) -> None:
    """Measure, print, and write."""
    console = Console()
    if unknown := set(only or ()) - set(SECTIONS):
        raise typer.BadParameter(f"got {', '.join(unknown)}, wanted of {', '.join(SECTIONS)}")
    samples = None if quick and not out else (out or SAMPLES) / "results.json"
    if render:
        results = read((out or SAMPLES) / "results.json")
    else:
        results = begun(samples) if samples else Results()
        for name in only or SECTIONS:
            section = _measured(name, Scale(quick=quick, long=long), console)
            results.add(name, section)
            _print(section, console)
            if samples:
                results.write(samples)
    if not (samples or render):
        return
    if left := SECTIONS.keys() - results.sections.keys():
        text = f"RESULTS.md is written once these are measured here, too: {', '.join(sorted(left))}"
    else:
        text = str(_write(results, out or HERE))
    console.print(text, markup=False, highlight=False)


def _measured(name: str, scale: Scale, console: Console) -> Section:
    """Measure a section, and show the progress."""
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=None)
        return SECTIONS[name](
            scale, lambda what: progress.update(task, description=f"{name}: {what}")
        )


def _print(section: Section, console: Console) -> None:
    console.print(f"[bold]{section.title}[/]")
    figures = Table(box=None, show_header=False)
    for series in section.series:
        figures.add_row(series.name, f"{number(series.figure)} {series.unit}")
    for claim in section.claims:
        times = "×" if claim.theirs else ""
        figures.add_row(claim.what, number(section.value(claim)) + times)
    console.print(figures)
    for note in section.notes:
        console.print(note, markup=False)


def _write(results: Results, folder: Path) -> Path:
    """Write the page and its picture; returns the page's path."""
    draw(results, folder / "results.svg")
    (folder / "RESULTS.md").write_text(page(results), encoding="utf-8")
    return folder / "RESULTS.md"


if __name__ == "__main__":
    typer.run(main)

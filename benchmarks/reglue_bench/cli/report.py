"""`reglue report`: draw runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from glue_server.commands.command import Command, console
from reglue.errors import UsageError
from reglue_bench.bakeoff.seeds import runs_in
from reglue_bench.cli.arguments import AsJson, TrustCode
from reglue_bench.report.frames import first_frames
from reglue_bench.report.page import draw_report, names
from reglue_bench.results.read_run import read_run


def report(
    runs: Annotated[list[Path], Argument(metavar="FOLDER…", help="folders of runs")],
    out: Annotated[
        Path | None, Option(help="the page (default: report.html in the first folder)")
    ] = None,
    pictures: Annotated[
        bool,
        Option(
            "--pictures",
            help="let environments draw first frames if observations are no pictures",
        ),
    ] = False,
    json: AsJson = False,
    trust_code: TrustCode = False,
) -> None:
    """Draw `report.html` of a run; with several folders, compare them.

    A folder of several runs, as of a bake-off or of training seeds, stands for these.

    The page is one file that needs no network. An unfinished run is drawn up to its last episode.
    First frames are shown if observations are pictures; with `--pictures` environments draw them
    (MuJoCo needs MUJOCO_GL=egl or osmesa).

    reglue report runs/mine runs/expert

    MUJOCO_GL=egl reglue report runs/mt10 --pictures

    `--json` prints the runs, each with its `result` as in result.json, and `comparisons`: the
    difference of each two runs, with its interval and p-value.

    Exit codes: 0 the page is written; 1 it could not be; 2 wrong usage; 130 interrupted.
    """
    shown = Console(stderr=True) if json else console()

    def say(words: str) -> None:
        shown.print(words, markup=False, highlight=False, soft_wrap=True)

    runs = [run for folder in runs for run in runs_in(folder)]
    once = list({folder.resolve(): folder for folder in reversed(runs)}.values())[::-1]
    if len(once) < len(runs):
        say("a run that is given twice is drawn once")
    runs = once
    results = [read_run(folder) for folder in runs]
    for run, result in zip(runs, results, strict=True):
        if not result.complete:
            planned, missing = result.coverage.cells_planned, result.status_counts.get("missing", 0)
            say(f"{run}: {planned - missing:,} of {planned:,} planned so far")
    folder = runs[0] if runs[0].is_dir() else runs[0].parent
    path = out or folder / "report.html"
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder; name the page, such as {path}/report.html")
    named = list(zip(names(results, runs), results, strict=True))
    frames = [first_frames(each, draws=pictures, trust_code=trust_code) for each in runs]
    page = draw_report(named, frames=frames)
    say(str(page.write(path)))
    if json:
        print(page.document(runs, results))


main = Command(report)

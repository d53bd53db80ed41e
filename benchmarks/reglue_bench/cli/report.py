"""`reglue report`: draw runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from glue_server.commands.command import Command
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson, TrustCode, print_document

if TYPE_CHECKING:
    from reglue_bench.plots.figures import NamedRun


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
    csv: Annotated[
        Path | None,
        Option(
            help="also write the scores here as CSV, a line for each agent over its training "
            "seeds; with curves over training steps, these to NAME-curves.csv"
        ),
    ] = None,
    latex: Annotated[
        Path | None, Option(help="also write these tables here as LaTeX, for booktabs")
    ] = None,
    figures: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="also write each figure here, as SVG and as PDF for a paper"),
    ] = None,
    json: AsJson = False,
    trust_code: TrustCode = False,
) -> None:
    """Draw `report.html` of a run; with several folders, compare them.

    A folder with several runs, as a bake-off or training seeds make it, means all of them.

    The page is one file that needs no network. An unfinished run is drawn up to its last episode.
    First frames are shown if observations are pictures; with `--pictures` environments draw them
    (MuJoCo needs MUJOCO_GL=egl or osmesa).

    reglue report runs/mine runs/expert

    MUJOCO_GL=egl reglue report runs/mt10 --pictures

    Tables for a paper, of two agents that were trained with five seeds each:

    reglue report runs/a runs/b --csv scores.csv --latex scores.tex

    Its figures, too, as SVG and PDF:

    reglue report runs/a runs/b --figures figures

    `--json` prints the runs, each with its `result` as in result.json, and `comparisons`: the
    difference of each two runs, with its interval and p-value. `over_training_seeds` has both of
    agents with several training seeds.

    Exit codes: 0 the page is written; 1 it could not be; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.bakeoff.seed_runs import runs_in
        from reglue_bench.plots.matplotlib_figures import write_figures
        from reglue_bench.report.frames import first_frames
        from reglue_bench.report.page import draw_report, names
        from reglue_bench.results.scoring import read_run

    output = console(stderr=json)
    first = runs[0]
    runs = [run for folder in runs for run in runs_in(folder)]
    once = list({folder.resolve(): folder for folder in reversed(runs)}.values())[::-1]
    if len(once) < len(runs):
        say("a folder was given twice: its run is drawn once", output)
    runs = once
    results = [read_run(folder) for folder in runs]
    for run, result in zip(runs, results, strict=True):
        if missing := result.status_counts.get("missing", 0):
            planned = result.coverage.cells_planned
            say(f"{run}: {planned - missing:,} of {planned:,} planned so far", output)
    folder = first if first.is_dir() else first.parent
    path = out or folder / "report.html"
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder; name the page, such as {path}/report.html")
    named_results = list(zip(names(results, runs), results, strict=True))
    frames = [first_frames(each, draws=pictures, trust_code=trust_code) for each in runs]
    page = draw_report(named_results, frames=frames)
    say(str(page.write(path)), output)
    for written in _tables(list(zip(page.names, results, strict=True)), csv, latex):
        say(str(written), output)
    if figures is not None:
        for written in write_figures(page.plots, figures):
            say(str(written), output)
    if json:
        print_document(page.document(runs, results))


def _tables(runs: Sequence[NamedRun], csv: Path | None, latex: Path | None) -> Iterator[Path]:
    """Write the requested files. Raises UsageError."""
    from reglue_bench.report.paper_tables import as_csv, as_latex, curve_rows, score_rows

    if csv is not None:
        yield _write(csv, as_csv(score_rows(runs)))
        if curves := curve_rows(runs):
            yield _write(csv.with_name(f"{csv.stem}-curves{csv.suffix}"), as_csv(curves))
    if latex is not None:
        yield _write(latex, as_latex(runs) + "\n")


def _write(path: Path, text: str) -> Path:
    from reglue_bench.results.whole_file import whole_file

    if path.is_dir():
        raise UsageError(got=f"the folder {path}", wanted=f"a file's name, such as {path}/table")
    try:
        with whole_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path


main = Command(report)

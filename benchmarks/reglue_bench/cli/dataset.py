"""`reglue dataset`: what was recorded by `reglue bench --record`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, Commands
from glue_server.console import console, say
from reglue.errors import UnknownName, UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson, TrustCode, print_document

if TYPE_CHECKING:
    from reglue_bench.datasets.dataset_summary import Range, Summary
    from reglue_bench.datasets.source import Episode, Source

_MOST_DIFFERENCES = 5  # that are printed

_From = Annotated[
    Path,
    Argument(metavar="FOLDER", help="folder of a recorded run, or of a dataset in Minari's layout"),
]


def info(dataset: _From, json: AsJson = False) -> None:
    """Show what a dataset holds: episodes, steps, returns, spaces, size, and what is lost.

    This reads the whole dataset, so it detects damage. A run in progress counts up to its last
    recorded episode.

    reglue dataset info runs/mine

    reglue dataset info ~/.minari/datasets/mine/expert-v0 --json

    Exit codes: 0 shown; 1 a damaged dataset; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.datasets.dataset_summary import summarized

    summary = summarized(dataset)
    if json:
        print_document(summary.model_dump_json(indent=1))
    else:
        console().print(_table(summary))


def export(
    dataset: _From,
    path: Annotated[
        Path | None, Argument(metavar="PATH", help="the folder to write, which must not exist")
    ] = None,
    dataset_id: Annotated[
        str | None,
        Option(
            "--id",
            metavar="NAME-v0",
            help="Minari's name of the dataset; without PATH it is written where "
            "minari.load_dataset finds it",
        ),
    ] = None,
    task: Annotated[
        list[str] | None, Option(metavar="TASK", help="only this task's episodes; repeat for more")
    ] = None,
    successful: Annotated[bool, Option("--successful", help="only episodes with success")] = False,
    without_organiser: Annotated[
        bool,
        Option(
            "--without-organiser",
            help="omit tasks, goals, seeds, success and the plan's order: only what agents saw "
            "and did, to publish",
        ),
    ] = False,
) -> None:
    """Write a dataset in Minari's layout: of a recorded run, or of another dataset.

    reglue dataset export runs/mine expert-reach --task reach-v3 --successful

    reglue dataset export runs/mine --id mine/expert-v0 --without-organiser

    Exit codes: 0 written; 1 a damaged dataset or a full disk; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.datasets.dataset_summary import source_of
        from reglue_bench.datasets.folder import write_dataset
        from reglue_bench.datasets.minari_id import check_id, folder_of_id

    target = path
    if dataset_id is not None:
        check_id(dataset_id)
        target = path or folder_of_id(dataset_id)
    if target is None:
        raise UsageError(got="no place to write to", wanted="PATH, or --id NAME-v0")
    with source_of(dataset) as source:
        if task or successful:
            _check_known(source, task or [])
        written = write_dataset(
            source,
            target,
            dataset_id=dataset_id,
            wanted=partial(_is_wanted, task or [], successful),
            with_organiser=not without_organiser,
        )
    say(
        f"{written.path}: {written.episodes:,} episodes, {written.steps:,} steps, "
        f"{decimal(written.size_bytes)}"
    )


def replay(
    dataset: Annotated[Path, Argument(metavar="FOLDER", help="folder of a recorded run")],
    episodes: Annotated[
        int | None, Option(min=1, metavar="N", help="only the first N (default: all)")
    ] = None,
    trust_code: TrustCode = False,
) -> None:
    """Play recorded actions again, and check that all observations and rewards are the same.

    They must be equal to the bit. What differs is printed, with the versions that have changed.

    reglue dataset replay runs/mine

    Exit codes: 0 all are equal; 1 some differ; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.datasets.dataset_replay import replayed

    played = differ = 0
    for title, difference in replayed(dataset, trust_code=trust_code):
        played += 1
        if difference is not None:
            differ += 1
            if differ <= _MOST_DIFFERENCES:
                say(f"{title}: {difference}")
        if played == episodes:
            break
    say(f"{played - differ:,} of {played:,} episodes are equal to the bit")
    if differ:
        raise Exit(FAULTS)


main = Commands(
    "dataset",
    "Show, export and replay what `reglue bench --record` recorded.\n\n"
    "reglue bench MT1:reach-v3 --agent random --record --out runs/mine\n\n"
    "reglue dataset info runs/mine\n\n"
    "Exit codes: 0 success; 1 damage, a full disk, or a replay that differs; 2 wrong usage; "
    "130 interrupted.",
    [info, export, replay],
)


def _check_known(source: Source, tasks: Sequence[str]) -> None:
    """Raise UsageError if the dataset does not support the filters."""
    if not source.has_organiser:
        raise UsageError(
            f"{source.name} was written without the organiser's fields, so its tasks "
            "and successes are unknown; export it from its run"
        )
    if tasks:
        known = {each.organiser["task"] for each in source if each.organiser}
        for task in tasks:
            if task not in known:
                raise UnknownName("task of the dataset called", task, sorted(known))


def _is_wanted(tasks: Sequence[str], successful: bool, episode: Episode) -> bool:
    facts = episode.organiser
    if facts is None or not (tasks or successful):
        return True
    return (not tasks or facts["task"] in tasks) and (not successful or bool(facts["success"]))


def _table(summary: Summary) -> Table:
    table = Table(title="dataset", show_header=False)
    rows = {
        "folder": summary.name,
        "id": summary.dataset_id,
        "benchmark": summary.benchmark or "not recorded by Reglue",
        "agent": summary.algorithm or "not said",
        "episodes": f"{summary.episodes:,}"
        + (f", and {summary.lost:,} lost" if summary.lost else ""),
        "steps": f"{summary.steps:,}{_range(summary.lengths)}",
        "mean return": "none" if summary.returns is None else _returns(summary.returns),
        "success": "unknown: the dataset lacks the organiser's fields",
        "observations": summary.observation_space,
        "actions": summary.action_space,
        "size": decimal(summary.size_bytes),
    }
    if summary.successes is not None and summary.tasks is not None:
        count = f"{summary.successes:,}" if summary.successes else "reported by none"
        rows["success"] = f"{count} of {summary.episodes:,} episodes"
        rows["tasks"] = ", ".join(f"{task} {count:,}" for task, count in summary.tasks.items())
    for name, text in rows.items():
        table.add_row(name, Text(text))
    return table


def _range(lengths: Range | None) -> str:
    if lengths is None:
        return ""
    return f", {lengths.least:,.0f} to {lengths.most:,.0f} an episode"


def _returns(returns: Range) -> str:
    from reglue_bench.formatting import number

    return f"{number(returns.mean)}, {number(returns.least)} to {number(returns.most)}"

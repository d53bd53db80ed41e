"""The dataset that a recorded run has beside its ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.filesize import decimal

from reglue.errors import ReglueError
from reglue_bench.datasets.folder import write_dataset
from reglue_bench.datasets.run_source import RunSource

FOLDER = "dataset"
"""In a run's folder."""


def write_recorded(folder: Path, say: Callable[[str], None]) -> None:
    """Write the dataset of a run that was played, in place of an earlier one.

    A run is not spoilt by its dataset: what goes wrong is said.
    """
    try:
        with RunSource(folder) as source:
            written = write_dataset(source, folder / FOLDER, replaces=True)
    except ReglueError as error:
        say(f"there is no dataset: {error}")
        return
    say(
        f"{written.path}: {written.episodes:,} episodes, {written.steps:,} steps, "
        f"{decimal(written.size_bytes)}"
    )

"""The report: one HTML file that says what a run, or several, came to.

It needs no network: plotly.js is inside. The same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.report.frames import first_frames
from reglue_bench.report.page import Page, page
from reglue_bench.report.views import Frame
from reglue_bench.results.result import Result

__all__ = ["Frame", "Page", "draw_report", "first_frames", "names", "write_report"]


def write_report(
    results: Sequence[tuple[str, Result]],
    path: Path,
    *,
    seed: int = 0,
    frames: Sequence[Sequence[Frame]] = (),
) -> Path:
    """Write the report of `results` to `path`, and return it; as `draw_report`.

    The folder is made.
    """
    return draw_report(results, seed=seed, frames=frames).write(path)


def draw_report(
    results: Sequence[tuple[str, Result]],
    *,
    seed: int = 0,
    frames: Sequence[Sequence[Frame]] = (),
) -> Page:
    """The report of `results`, (name, result) each.

    Several are compared, each with the first. `seed` is that of the bootstrap and of
    the permutation tests. `frames` are each run's first pictures (`first_frames`), or none
    at all. Raises UsageError where there is no result.
    """
    if not results:
        raise UsageError("a report needs a result; name a run's folder")
    return page(results, seed=seed, frames=frames or [()] * len(results))


def names(results: Sequence[Result], folders: Sequence[Path]) -> list[str]:
    """What a report calls runs: by their agents' labels, else by the folders that hold them."""
    labels = [result.agent.label for result in results]
    # Labels say more than folders do, as long as they tell the runs apart.
    return labels if len(set(labels)) == len(labels) else [folder.name for folder in folders]

"""The report: one HTML file that says what a run, or several, came to.

It needs no network: plotly.js is inside. The same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.report.page import page
from reglue_bench.result import Result

__all__ = ["write_report"]


def write_report(results: Sequence[tuple[str, Result]], path: Path, *, seed: int = 0) -> Path:
    """Write the report of `results`, (name, result) each, to `path`, and return it.

    Several are compared, each with the first. `seed` is that of the bootstrap and of
    the permutation tests. The folder is made. Raises UsageError where there is no result.
    """
    if not results:
        raise UsageError("a report needs a result; name a run's folder")
    html = page(results, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(html, encoding="utf-8")
    draft.replace(path)
    return path

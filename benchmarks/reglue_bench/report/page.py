"""The report: one HTML page about a run, or about several that are compared.

It needs neither network nor scripts, and the same results give the same bytes. The page's
Content-Security-Policy allows no script, and nothing from the network; so a hostile agent name can
neither run nor load anything, even if an escape were forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic_core import to_json

from reglue.errors import UsageError
from reglue_bench import formatting
from reglue_bench.measures.seed_statistics import BOOTSTRAP_SEED
from reglue_bench.plots.compared import Pairs, Seeds, score_and_interval
from reglue_bench.plots.figures import Plot
from reglue_bench.plots.matplotlib_figures import PAGE, PHONE, svg
from reglue_bench.procedures import PROCEDURES
from reglue_bench.renderers.renderer import Renderer, notes, renderer_of
from reglue_bench.report import page_contents
from reglue_bench.report.frames import Frame
from reglue_bench.report.page_contents import ComparisonView, comparison_view, run_view
from reglue_bench.results.result import Result
from reglue_bench.results.whole_file import whole_file
from reglue_bench.statistics import METHOD

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Page:
    """A report, and what it says of several runs."""

    html: str
    names: Sequence[str]  # of the runs, as it has them
    comparison: ComparisonView | None  # None if there is one run
    plots: Sequence[Plot]

    def write(self, path: Path) -> Path:
        """Write it to `path`, whole or not at all, and return that; the folder is made.

        Raises UsageError if it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(self.html.encode())
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}; the runs are kept, and "
                "`reglue report` draws it from their folders"
            ) from error
        return path

    def document(self, folders: Sequence[Path], results: Sequence[Result]) -> str:
        """The page's contents as JSON: the runs, the verdict, and the difference of each two."""
        comparison = self.comparison
        runs = zip(self.names, map(str, folders), results, strict=True)
        document = {
            "runs": [{"name": n, "folder": folder, "result": each} for n, folder, each in runs],
            "verdict": comparison.verdict if comparison else "",
            "comparisons": _pairs("run", self.names, comparison.differences) if comparison else [],
            "over_training_seeds": comparison and comparison.seeds and _seeds(comparison.seeds),
        }
        return to_json(document, by_alias=True, inf_nan_mode="null").decode()


def _pairs(entrant: str, names: Sequence[str], differences: Pairs) -> list[dict[str, Any]]:
    return [
        {entrant: names[later], "reference": names[earlier], **asdict(each)}
        for (later, earlier), each in differences.items()
    ]


def _seeds(seeds: Seeds) -> dict[str, Any]:
    """Agents over their training seeds, without the arrays of their profiles."""
    told = ("seeds", "mean", "mean_interval95", "iqm", "iqm_interval95")
    return {
        "verdict": seeds.verdict,
        "agents": [
            {"agent": name} | {field: getattr(each, field) for field in told}
            for name, each in seeds.agents.items()
        ],
        "comparisons": _pairs("agent", list(seeds.agents), seeds.differences),
    }


def names(results: Sequence[Result], folders: Sequence[Path]) -> list[str]:
    """The names of runs in a report: labels, or labels and training seeds, or else folders."""
    labels = [result.agent.label for result in results]
    # Labels say more than folders do, as long as they differ.
    if len(set(labels)) == len(labels):
        return labels
    distinct = []
    for result, label, folder in zip(results, labels, folders, strict=True):
        seed = result.agent.training_seed
        if seed is not None:
            distinct.append(f"{label} · seed {seed}")
        else:
            distinct.append(label if labels.count(label) == 1 else folder.name)
    return distinct


def draw_report(
    results: Sequence[tuple[str, Result]], *, frames: Sequence[Sequence[Frame]] = ()
) -> Page:
    """The report of `results`, (name, result) each; several are compared with the first.

    `frames` are each run's first pictures (`first_frames`), or none at all. Raises UsageError if
    there is no result, or where runs are judged by different scores.
    """
    if not results:
        raise UsageError(got="no results", wanted="the folder of a run or more")
    frames = frames or [()] * len(results)
    names = _distinct([_name(name, result, alone=len(results) == 1) for name, result in results])
    runs = [(name, result) for name, (_, result) in zip(names, results, strict=True)]
    comparison = comparison_view(runs) if len(runs) > 1 else None
    views = [
        run_view(name, run, run_id=f"run-{i}", frames=run_frames)
        for i, ((name, run), run_frames) in enumerate(zip(runs, frames, strict=True))
    ]
    first = results[0][1]
    html = (
        _environment()
        .get_template("template.html.jinja")
        .render(
            title=_title(runs),
            runs=views,
            comparison=comparison,
            bootstrap_seed=BOOTSTRAP_SEED,
            measure=first.measure,
            renderer=renderer_of(first),
            procedures=PROCEDURES,
            badges_of=page_contents.badges,
            statuses=page_contents.statuses,
            times=page_contents.times,
            notes=notes,
            score_and_interval=score_and_interval,
            texts=formatting,
            reading=Markup(_reading(renderer_of(first), comparison)),
            style=Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
            draw=lambda plot, width: Markup(svg(plot, width)),
            PAGE=PAGE,
            PHONE=PHONE,
        )
    )
    of_runs = [plot for view in views for plot in view.plots]
    compared = [*comparison.plots, *comparison.maps] if comparison else []
    return Page(html, names, comparison, [*compared, *of_runs])


def _reading(renderer: Renderer, comparison: ComparisonView | None) -> str:
    template = _environment().from_string(renderer.reading.read_text(encoding="utf-8"))
    return template.render(comparison=comparison, method=METHOD)


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _name(name: str, result: Result, *, alone: bool) -> str:
    return result.agent.label if alone or not name else name


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that come again."""
    counts: dict[str, int] = {}
    distinct = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        distinct.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return distinct


def _title(runs: Sequence[tuple[str, Result]]) -> str:
    benchmarks = " and ".join(dict.fromkeys(run.title for _, run in runs))
    if len(runs) == 1:
        return f"{runs[0][0]} on {benchmarks}"
    return f"{len(runs)} {runs[0][1].measure.entrant}s on {benchmarks}"

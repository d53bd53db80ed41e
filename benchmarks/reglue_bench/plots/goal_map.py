"""Maps of goals: a square for each goal of each task, of one run or of the difference of two."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from reglue_bench.formatting import count, points
from reglue_bench.measures.compare import Units, paired, same_plan
from reglue_bench.plots.figures import (
    FAILURE,
    FAULT,
    PARTLY,
    SHADE,
    SUCCESS,
    Axis,
    Figure,
    Line,
    Rows,
    colour,
    rows,
    squares,
)
from reglue_bench.plots.views import NamedRun, Plot, Table
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Result


def goal_map(result: Result, *, plot_id: str) -> Plot:
    """Success of each goal, and where a fault was."""
    tasks = list(result.success_rate_per_task)
    goals = _by_goal(result)
    variants = _variants(result, goals)
    shades = {
        (x, y): _shade(goals.get((task, variant)))
        for y, task in enumerate(tasks)
        for x, variant in enumerate(variants)
    }
    faults = [
        (variants.index(variant), tasks.index(task))
        for (task, variant), episodes in goals.items()
        if any(row.status != "ok" for row in episodes)
    ]
    return Plot(
        id=plot_id,
        title="Every goal",
        caption="One square a goal.",
        summary=f"{count(len(goals))} goals over {count(len(tasks))} tasks, coloured by success.",
        figure=Figure(
            [*squares(shades), *_crosses(faults)],
            x=_variant_axis(variants),
            y=_rows(tasks),
        ),
        table=Table(
            ["task", "goals solved", "partly", "not solved", "with faults"],
            [[task, *_tally(task, goals)] for task in tasks],
        ),
        legend=_legend(goals, everywhere=len(goals) == len(tasks) * len(variants)),
    )


def difference_map(runs: Sequence[NamedRun], place: int) -> Plot | None:
    """A map of the goals on which a run beats the first; None if their plans differ."""
    run, reference = runs[place], runs[0]
    ours, theirs = colour(place), colour(0)
    if not same_plan([run[1], reference[1]]):
        return None
    units, planned = [Units(run[1]), Units(reference[1])], run[1].coverage.episodes_planned
    goals = {  # that one of them has played
        task: sorted({key[0] for each in units for key in each.by_task.get(task, ())})
        for task in planned
    }
    pairs = {
        task: rates[:, np.isin(sorted(planned[task]), goals[task])]
        for task, rates in paired(units).items()
        if goals[task]
    }
    variants = sorted({variant for task in pairs for variant in goals[task]})
    tasks = list(pairs)
    shades = {
        (variants.index(variant), y): _winner(float(one - other), ours, theirs)
        for y, (task, rates) in enumerate(pairs.items())
        for variant, one, other in zip(goals[task], *rates, strict=True)
    }
    only = {task: ((r[0] > r[1]).sum(), (r[0] < r[1]).sum()) for task, r in pairs.items()}
    wins, losses = sum(w for w, _ in only.values()), sum(lost for _, lost in only.values())
    return Plot(
        id=f"compare-{place}",
        title=f"Where {run[0]} and {reference[0]} differ",
        caption=f"{run[0]} does better on {wins} goals, {reference[0]} on {losses}.",
        summary=f"{wins} goals for {run[0]}, {losses} for {reference[0]}.",
        figure=Figure(squares(shades), x=_variant_axis(variants), y=_rows(tasks)),
        table=Table(
            ["task", f"{run[0]} better", f"{reference[0]} better", "difference, points"],
            [
                [task, str(only[task][0]), str(only[task][1]), points(float((r[0] - r[1]).mean()))]
                for task, r in pairs.items()
            ],
        ),
        legend=[
            (ours, f"{run[0]} better"),
            (SHADE, "alike"),
            (theirs, f"{reference[0]} better"),
        ],
    )


def _rows(tasks: Sequence[str]) -> Rows:
    return rows(tasks, each=0 if len(tasks) > 3 else 40, least=50)


def _variant_axis(variants: Sequence[int]) -> Axis:
    """An x axis with a column a variant, a number under some."""
    every = max(1, math.ceil(len(variants) / 12))
    ticks = {float(n): str(variants[n]) for n in range(0, len(variants), every)}
    return Axis("goal", (-0.5, max(len(variants), 1) - 0.5), ticks=ticks, grid=False)


def _crosses(places: Sequence[tuple[int, int]]) -> list[Line]:
    """Two strokes in each square."""
    if not places:
        return []
    x = [end for x, _ in places for end in (x - 0.2, x + 0.2, math.nan, x - 0.2, x + 0.2, math.nan)]
    y = [end for _, y in places for end in (y - 0.2, y + 0.2, math.nan, y + 0.2, y - 0.2, math.nan)]
    return [Line(x, y, FAULT, 1.8)]


def _by_goal(result: Result) -> Mapping[tuple[str, int], list[EpisodeRow]]:
    goals: defaultdict[tuple[str, int], list[EpisodeRow]] = defaultdict(list)
    for row in result.episodes:
        if row.phase == "evaluate" and row.task in result.success_rate_per_task:
            goals[row.task, row.variant].append(row)
    return dict(goals)


def _variants(result: Result, goals: Iterable[tuple[str, int]]) -> Sequence[int]:
    """The variants that were played; if a plan counts from 0, also those never reached."""
    played = sorted({variant for _, variant in goals})
    planned = max(map(len, result.coverage.episodes_planned.values()))
    return range(planned) if not played or played[-1] < planned else played


def _rate(episodes: Sequence[EpisodeRow] | None) -> float | None:
    return sum(row.success for row in episodes) / len(episodes) if episodes else None


def _shade(episodes: Sequence[EpisodeRow] | None) -> str:
    """From FAILURE over PARTLY to SUCCESS."""
    rate = _rate(episodes)
    if rate is None:
        return SHADE
    first, last = (FAILURE, PARTLY) if rate < 0.5 else (PARTLY, SUCCESS)
    ends = [np.array([*bytes.fromhex(each[1:])]) for each in (first, last)]
    mixed = ends[0] + (2 * rate - (rate >= 0.5)) * (ends[1] - ends[0])
    return f"#{bytes(mixed.round().astype(np.uint8)).hex()}"


def _winner(difference: float, ours: str, theirs: str) -> str:
    """The colour of the better one, fainter where it is hardly better."""
    if not difference:
        return SHADE
    return f"{ours if difference > 0 else theirs}{round(51 + 204 * abs(difference)):02x}"


def _tally(task: str, goals: Mapping[tuple[str, int], Sequence[EpisodeRow]]) -> list[str]:
    mine = [episodes for (name, _), episodes in goals.items() if name == task]
    rates = [_rate(episodes) for episodes in mine]
    solved, lost = rates.count(1.0), rates.count(0.0)
    faulty = sum(any(row.status != "ok" for row in episodes) for episodes in mine)
    return [count(n) for n in (solved, len(rates) - solved - lost, lost, faulty)]


def _legend(
    goals: Mapping[tuple[str, int], Sequence[EpisodeRow]], *, everywhere: bool
) -> list[tuple[str, str]]:
    legend = [(SUCCESS, "success"), (FAILURE, "failure")]
    if any(0 < (_rate(episodes) or 0) < 1 for episodes in goals.values()):
        legend.insert(1, (PARTLY, "some of its episodes"))
    if not everywhere:
        legend.append((SHADE, "not played"))
    if any(row.status != "ok" for episodes in goals.values() for row in episodes):
        legend.append((FAULT, "a fault"))
    return legend

"""Bars and curves, as numbers for SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from reglue_bench.float_range import share
from reglue_bench.formatting import count, percent, value, values
from reglue_bench.plots.curves import lines_of
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Result
from reglue_bench.results.scores import LearningRun, PerformanceScore
from reglue_bench.statistics import Interval
from reglue_competition.page.views.view_models import Bar, Curve

WIDE, HIGH = 1000.0, 300.0
"""Units of a curve's drawing, which is stretched to its place."""

_BEGIN, _SPAN = 1.0, 98.0  # where bars lie on their line of 100 units
_RUNS = 30  # whose lines are drawn, besides the mean
_ROWS = 20  # of its table
_ROUNDING = 1e-9  # two numbers are the same that differ by less, relatively
_MOST = 1e300  # of an axis: what is beyond lies on its edge
_RATES = ("100 %", "75 %", "50 %", "25 %", "0 %")


def scale(spreads: Iterable[tuple[float | None, Interval | None]], *, is_rate: bool) -> Interval:
    """The smallest and the largest value among scores and their intervals: the bars' ends."""
    if is_rate:
        return 0.0, 1.0
    seen = [
        each
        for score, interval in spreads
        if score is not None
        for each in (score, *(interval or ()))
    ]
    return (min(seen), max(seen)) if seen else (0.0, 0.0)


def bar(score: float | None, interval: Interval | None, ends: Interval) -> Bar | None:
    """A score on a line between two ends; None without a score or a line."""
    least, most = ends
    if score is None or most <= least:
        return None

    def at(amount: float) -> float:
        return round(_BEGIN + _SPAN * share(amount, least, most), 2)

    low, high = interval or (score, score)
    return Bar(at(low), at(score), at(high))


def learning_curves(score: PerformanceScore, lowest: float = -math.inf) -> list[Curve]:
    """Curves of returns, none below `lowest`, and of episode lengths where they vary."""
    what = "return" if score.counted_in == "episodes" else "reward per step"
    curves = [_learning(score, lambda run: run.line, "Learning curve", what, lowest)]
    if any(len(set(run.episode_steps)) > 1 for run in score.completed):
        curves.append(
            _learning(
                score, lambda run: run.episode_steps, "Steps per episode", "steps per episode"
            )
        )
    return [each for each in curves if each is not None]


def success_curve(result: Result, rows: Sequence[EpisodeRow]) -> Curve | None:
    """The share of planned episodes solved within n steps; None without planned episodes."""
    planned = {task: sum(of.values()) for task, of in result.coverage.episodes_planned.items()}
    judged = [row for row in rows if row.phase == "evaluate" and planned.get(row.task)]
    if not planned or not judged:
        return None
    longest = max(row.steps for row in judged)
    won = sorted((row.first_success, row.task) for row in judged if row.success)
    points, solved = [(0, 0.0)], 0.0
    for steps, of in groupby(won, key=lambda each: each[0]):
        points.append((steps, solved))
        solved += sum(1 / planned[task] / len(planned) for _, task in of)
        points.append((steps, solved))
    points.append((longest, solved))
    ends = (0.0, 1.0)
    at = [longest * place // 10 for place in range(1, 11)]
    shares = [max(share for steps, share in points if steps <= each) for each in at]
    return Curve(
        title="Success curve",
        caption="The share of all planned episodes that had succeeded within so many steps, also "
        "where success did not end them.",
        summary=f"{percent(solved)} of the planned episodes were solved, within {count(longest)} "
        f"steps; half of that within {count(_half(won, points, solved))}.",
        mean=_line(points, (0, longest), ends),
        y_ticks=_RATES,
        x_ticks=_x_ticks(0, longest),
        unit="steps",
        columns=("steps", "solved"),
        rows=[
            (count(each), percent(share))
            for each, share in dict(zip(at, shares, strict=True)).items()
        ],
    )


def _half(won: Sequence[tuple[int, str]], points: Sequence[tuple[int, float]], all_: float) -> int:
    """The steps within which half of the solved episodes were solved."""
    return next((steps for steps, share in points if won and 2 * share >= all_), 0)


def _learning(
    score: PerformanceScore,
    of_run: Callable[[LearningRun], Sequence[float]],
    title: str,
    what: str,
    lowest: float = -math.inf,
) -> Curve | None:
    lines = lines_of(score, of_run, lowest)
    if not len(lines.whole) or not lines.ends:
        return None
    mean, intervals = lines.mean.tolist(), lines.intervals95
    runs = lines.whole.tolist()[:_RUNS] if len(lines.whole) > 1 else []
    seen = [*mean, *(each for line in runs for each in line)]
    ticks = _ticks(min(seen), max(seen))
    ends, span = (ticks[0], ticks[-1]), (lines.begins[0] if len(mean) > 1 else 0, lines.ends[-1])
    xs = lines.ends
    edge = [*zip(xs, (high for _, high in intervals), strict=False)]
    edge += reversed([*zip(xs, (low for low, _ in intervals), strict=False)])
    places = sorted({round(n * (len(mean) - 1) / (_ROWS - 1)) for n in range(_ROWS)})
    of_runs = f"over {count(len(lines.whole))} completed runs"
    return Curve(
        title=title,
        caption=f"{what.capitalize()}, mean {of_runs}"
        + (" with its pointwise 95 % t-interval" if intervals else "")
        + ("; thin lines are single runs." if runs else "."),
        summary=f"Mean {what} {of_runs}: {value(mean[0])} at {lines.at(0)}, {value(mean[-1])} at "
        f"{lines.at(len(mean) - 1)}.",
        mean=_line(list(zip(xs, mean, strict=True)), span, ends),
        band=_line(edge, span, ends),
        runs=[_line(list(zip(xs, line, strict=True)), span, ends) for line in runs],
        y_ticks=[_tick(each, ticks[1] - ticks[0]) for each in reversed(ticks)],
        x_ticks=_x_ticks(*span),
        unit=f"{lines.unit}s",
        columns=(lines.unit, f"mean {what}", "95 % interval"),
        rows=[
            (
                lines.at(place).partition(" ")[2],
                value(mean[place]),
                values(intervals[place]) if intervals else "–",
            )
            for place in places
        ],
    )


def _line(points: Sequence[tuple[float, float]], span: Interval, ends: Interval) -> str:
    """The `points` of an SVG's polyline."""
    width = max(span[1] - span[0], 1)

    def on_page(x: float, y: float) -> str:
        return f"{WIDE * (x - span[0]) / width:.1f},{HIGH * (1 - share(y, *ends)):.1f}"

    return " ".join(on_page(x, y) for x, y in points)


def _ticks(low: float, high: float) -> list[float]:
    """3 to 6 round numbers, evenly apart, around the two; ends too large to draw are cut."""
    low, high = max(low, -_MOST), min(high, _MOST)
    if math.isclose(low, high, rel_tol=_ROUNDING, abs_tol=1 / _MOST):
        low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
    reach = high - low
    power = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(each for n in (1, 2, 2.5, 5, 10) if (each := n * power) >= reach / 4)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    return [step * n for n in range(first, last + 1)]


def _tick(amount: float, step: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(step))) if step < 10 else 0
    digits_text = f"{amount:z,.{digits}f}" if abs(amount) < 1e7 else f"{amount:.3g}"
    trimmed = digits_text.rstrip("0").rstrip(".") if "." in digits_text else digits_text
    return (trimmed if float(amount) else "0").replace("-", "−")


def _x_ticks(first: int, last: int) -> list[str]:
    """The ends and the middle, which few units make a half."""
    middle = (first + last) / 2
    return [count(first), f"{middle:g}" if last - first < 20 else count(int(middle)), count(last)]

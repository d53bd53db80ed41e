"""The result of an online benchmark in the terminal."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from rich.table import Table
from rich.text import Text

from reglue_bench.result import Interval, OnlineScore, Result
from reglue_bench.words import number

_PARTS = 10  # of a run, one in a row


def learning_table(result: Result) -> Table:
    """Means over the completed runs: of each tenth of a run, and the performance."""
    online = result.online
    assert online is not None
    title = Text(f"{result.agent.label} on {result.benchmark}, seed {result.seed}")
    table = Table(title=title, min_width=title.cell_len + 2)
    table.add_column(online.counted_in)
    table.add_column("mean return" if online.episode_steps else "reward per step", justify="right")
    if online.episode_steps:
        table.add_column("steps per episode", justify="right")
    for begin, end in _parts(len(online.curve.at)):
        cells = [_mean(online.curve.mean[begin:end])]
        if online.episode_steps:
            cells.append(_mean(online.episode_steps.mean[begin:end]))
        first = online.curve.at[begin - 1] + 1 if begin else 1
        table.add_row(f"{first:,} – {online.curve.at[end - 1]:,}", *cells)
    table.add_section()
    performance = "–" if online.performance is None else number(online.performance)
    table.add_row("performance", performance, style="bold")
    return table


def learning_notes(online: OnlineScore) -> list[str]:
    """What the performance is, how sure, and over which runs."""
    runs = online.completed
    words = [f"performance: {what_is_measured(online)}, mean over {len(runs)} runs"]
    if online.interval95 is not None:
        words.append(f"95 % interval {interval(online.interval95)} (t, n = {len(runs)})")
    elif runs:
        words.append("a single run has no interval")
    lines = ["; ".join(words), how_fresh(online)]
    counts = Counter(run.status for run in online.runs if run.status != "ok")
    if counts:
        told = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        lines.append(
            f"PARTIAL: {told}, of {len(online.runs)} runs; they have no performance, and the "
            "means leave them out"
        )
    if retried := sum(run.attempt > 0 for run in online.runs):
        lines.append(f"{retried} runs are of a second or later try")
    return lines


def what_is_measured(online: OnlineScore) -> str:
    """`the mean return of a run's last 100 episodes`."""
    kind, _, last = online.measure.partition(":")
    which = f"all {online.quota:,}" if kind == "all" else f"the last {int(last):,}"
    what = "mean return" if online.counted_in == "episodes" else "mean reward per step"
    return f"{what} over {which} {online.counted_in} of a run"


def how_fresh(online: OnlineScore) -> str:
    """What made the agent of each run naive."""
    if online.fresh_agent == "process":
        return "each run had an agent process of its own"
    return "one agent played all runs; its agent_init made it naive before each"


def interval(bounds: Interval) -> str:
    """`-152.1 to -148.3`."""
    return f"{number(bounds[0])} to {number(bounds[1])}"


def _parts(points: int) -> list[tuple[int, int]]:
    parts = min(_PARTS, points)
    ends = [points * place // parts for place in range(parts + 1)] if parts else []
    return list(pairwise(ends))


def _mean(values: list[float]) -> str:
    return number(sum(values) / len(values))

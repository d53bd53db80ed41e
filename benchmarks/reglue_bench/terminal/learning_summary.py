"""The result of an online benchmark in the terminal."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from rich.table import Table
from rich.text import Text

from reglue_bench.results.result import Interval, OnlineScore, Result
from reglue_bench.terminal.words import number

_PARTS = 10  # of a run, one in a row


def learning_table(result: Result) -> Table:
    """Means over the completed runs of each tenth of a run; the performance of all runs."""
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
        last = online.curve.at[end - 1]
        table.add_row(f"{first:,} – {last:,}" if first < last else f"{last:,}", *cells)
    table.add_section()
    performance = "withheld" if online.performance is None else number(online.performance)
    table.add_row("performance", performance, style="bold")
    if online.completed_only is not None and len(online.completed) < len(online.runs):
        table.add_row("completed runs only", number(online.completed_only))
    return table


def learning_notes(online: OnlineScore) -> list[str]:
    """What the performance is, how sure, and over which runs."""
    runs = online.runs
    words = [f"performance: {what_is_measured(online)}, mean over {len(runs)} runs"]
    if online.interval95 is not None:
        words.append(f"95 % interval {interval(online.interval95)} (t, n = {len(runs)})")
    elif len(runs) == 1:
        words.append("a single run has no interval")
    lines = ["; ".join(words), how_fresh(online)]
    counts = Counter(run.status for run in runs if run.status != "ok")
    if counts:
        told = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        lines.append(f"PARTIAL: {told}, of {len(runs)} runs")
    lines += [*scored_as_worst(online), *why_withheld(online)]
    if retried := sum(run.attempt > 0 for run in online.runs):
        lines.append(f"{retried} runs are of a second or later try")
    return lines


def scored_as_worst(online: OnlineScore) -> list[str]:
    """What the runs count as that the agent's own fault ended; nothing if there are none."""
    if not online.given_up:
        return []
    assert online.worst_performance is not None
    return [
        f"{len(online.given_up)} of {len(online.runs)} runs ended by the agent's own fault; each "
        f"counts as the worst performance, {number(online.worst_performance)}"
    ]


def why_withheld(online: OnlineScore) -> list[str]:
    """Why there is no performance; nothing if there is one."""
    if online.performance is not None:
        return []
    return [f"no score: {online.withheld}; it is not ranked, and not compared"]


def what_is_measured(online: OnlineScore) -> str:
    """`the mean return of a run's last 100 episodes`."""
    kind, _, last = online.metric.partition(":")
    which = f"all {online.quota:,}" if kind == "all" else f"the last {int(last):,}"
    what = "mean return" if online.counted_in == "episodes" else "mean reward per step"
    return f"{what} over {which} {online.counted_in} of a run"


def how_fresh(online: OnlineScore) -> str:
    """What made the agent of each run naive."""
    if online.fresh_agent == "process":
        return "each run had an agent process of its own"
    return "one agent played all runs; that its agent_init made it naive before each is its word"


def interval(bounds: Interval) -> str:
    """`-152.1 to -148.3`."""
    return f"{number(bounds[0])} to {number(bounds[1])}"


def _parts(points: int) -> list[tuple[int, int]]:
    parts = min(_PARTS, points)
    ends = [points * place // parts for place in range(parts + 1)] if parts else []
    return list(pairwise(ends))


def _mean(values: list[float]) -> str:
    return number(sum(values) / len(values))

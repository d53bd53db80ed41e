"""A result in the terminal."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reglue_bench.results.result import Ending, Interval, OnlineScore, Result
from reglue_bench.terminal.words import isolation_words, number

_PARTS = 10  # of a run, one in a row


def print_summary(console: Console, result: Result) -> None:
    """The score, what it is made of, and what went wrong."""
    if result.status_counts.keys() - {"missing"}:  # else there is nothing to be seen in it
        console.print(_table(result) if result.online is None else _learning_table(result))
    for line in notes(result):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(result: Result) -> Table:
    title = f"{result.agent.label} on {result.benchmark}, seed {result.seed}"
    named = Text(title)  # an agent names itself: no markup
    table = Table(title=named, min_width=named.cell_len + 2)
    table.add_column("task")
    if result.is_by_return:
        _add_returns(table, result)
        return table
    for column in ("success", "95 % interval", "mean return"):
        table.add_column(column, justify="right")
    success = result.success
    for task, rate in result.success_rate_per_task.items():
        returns = result.returns_per_task[task]
        mean = "–" if returns is None else f"{returns:.1f}"
        table.add_row(task, f"{rate:.3f}", _interval(success.intervals95_per_task[task]), mean)
    table.add_section()
    total = result.mean_returns
    table.add_row(
        "mean over tasks",
        f"{success.rate:.3f}",
        _interval(success.interval95),
        "–" if total is None else f"{total:.1f}",
        style="bold",
    )
    return table


def _add_returns(table: Table, result: Result) -> None:
    for column in ("mean return", "95 % interval"):
        table.add_column(column, justify="right")
    intervals = result.intervals95.per_task if result.intervals95 else {}
    for task, mean in result.returns_per_task.items():
        words = "–" if mean is None else number(mean)
        table.add_row(task, words, _values(intervals.get(task)))
    table.add_section()
    total = "withheld" if result.mean_returns is None else number(result.mean_returns)
    table.add_row(
        "mean over tasks",
        total,
        _values(result.intervals95.mean if result.intervals95 else None),
        style="bold",
    )


def _learning_table(result: Result) -> Table:
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


def notes(result: Result) -> list[str]:
    """What a reader of the score has to know."""
    lines = [f"isolation: {isolation_words(result.agent.isolation)}"]
    if result.before_adaptation is not None:
        lines.append(f"before adaptation: {result.before_adaptation.mean_success_rate:.3f}")
    if result.is_by_return:
        lines.append("judged by its mean return: this environment does not tell of success")
    lines += success_never_told(result)
    if result.upstream is not None:
        lines.append(
            f"as metaworld.evaluation counts: {result.upstream.mean_success_rate:.3f} (goals as "
            "it draws them, the first episodes of a task to finish)"
        )
    if result.baseline:
        lines.append(f"a baseline: the agent was told the {' and the '.join(result.baseline)}")
    if result.coverage.goals_planned < result.coverage.goals_total:
        coverage = result.coverage
        lines.append(f"{coverage.goals_planned} of {coverage.goals_total} goals were planned")
    if result.clipped_steps:
        lines.append(
            f"{result.clipped_steps} of {result.steps.counted} actions lay out of bounds "
            "and were clipped"
        )
    if result.online is not None:
        lines += _learning_notes(result.online)
    else:
        lines += _missing(result)
    lines += [f"{fault.count} × {fault.status}: {fault.detail}" for fault in result.faults[:5]]
    if result.episodes_retried and result.online is None:
        lines.append(f"{result.episodes_retried} episodes are of a second or later try")
    if result.ended_early is not None:
        lines.append(f"ended early, {ended(result.ended_early)}")
    return lines


def success_never_told(result: Result) -> list[str]:
    """A hint where success is the score and nobody has ever seen one; else nothing."""
    is_metaworlds = "goal_visible" in result.parameters  # its environments do tell
    if result.online is not None or result.is_by_return or is_metaworlds:
        return []
    if not result.coverage.cells_completed or result.episodes_succeeded:
        return []
    return [
        "no episode told of success; if this environment never does, say tells_success = False, "
        "and the mean return is the score"
    ]


def ended(ending: Ending) -> str:
    """How a run ended, whose fault it was first: `agent_error: KeyError`, or `interrupted; …`."""
    told = ending.what.startswith(ending.status)
    return ending.what if told else f"{ending.status}: {ending.what}"


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


def between(bounds: Interval) -> str:
    """`-152.1 to -148.3`."""
    return f"{number(bounds[0])} to {number(bounds[1])}"


def _learning_notes(online: OnlineScore) -> list[str]:
    """What the performance is, how sure, and over which runs."""
    runs = online.runs
    words = [f"performance: {what_is_measured(online)}, mean over {len(runs)} runs"]
    if online.interval95 is not None:
        words.append(f"95 % interval {between(online.interval95)} (t, n = {len(runs)})")
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


def _missing(result: Result) -> list[str]:
    faults = {status: n for status, n in result.status_counts.items() if status != "ok"}
    if not faults:
        return []
    counted = ", ".join(f"{n} {status}" for status, n in faults.items())
    told = (
        f"PARTIAL: {counted}, of {result.coverage.cells_planned} episodes; each counts as a failure"
    )
    if result.is_by_return:
        known = "counts as the worst return" if result.mean_returns is not None else "has no return"
        return [f"{told.rpartition(';')[0]}; each {known}"]
    if not result.coverage.cells_completed:
        return [f"{told}, and none was completed"]
    completed = result.success.completed_only.mean_success_rate
    return [f"{told} (success of those completed: {completed:.3f})"]


def _interval(interval: Interval) -> str:
    return f"{interval[0]:.3f} – {interval[1]:.3f}"


def _values(interval: Interval | None) -> str:
    return f"{number(interval[0])} – {number(interval[1])}" if interval else "–"


def _parts(points: int) -> list[tuple[int, int]]:
    parts = min(_PARTS, points)
    ends = [points * place // parts for place in range(parts + 1)] if parts else []
    return list(pairwise(ends))


def _mean(values: list[float]) -> str:
    return number(sum(values) / len(values))

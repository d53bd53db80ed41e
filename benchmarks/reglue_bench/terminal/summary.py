"""A result in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reglue_bench.results.result import Ending, Interval, Result
from reglue_bench.terminal.learning_summary import learning_notes, learning_table
from reglue_bench.terminal.words import isolation_words, number


def print_summary(console: Console, result: Result) -> None:
    """The score, what it is made of, and what went wrong."""
    if result.status_counts.keys() - {"missing"}:  # else there is nothing to be seen in it
        console.print(_table(result) if result.online is None else learning_table(result))
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
        lines += learning_notes(result.online)
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

"""Plots with a row for each task: scores, adaptation, steps to success, returns, maps of goals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reglue_bench.formatting import count, percent, plural, points, value
from reglue_bench.measures.compare import Units, paired, same_plan
from reglue_bench.plots import figures
from reglue_bench.plots.compared import PlottedAgent, plotted_agents, seeds_caption
from reglue_bench.plots.figures import Axis, Dots, Figure, Line, Mark, NamedRun, Plot, Rows, Table
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Measure, Result
from reglue_bench.results.scores import Rates, TaskScore


def per_task(runs: Sequence[NamedRun], *, plot_id: str, caption: str) -> Plot:
    """A dot for each agent or run with its interval, one row for each task."""
    measure, alone, of = runs[0][1].measure, len(runs) == 1, plotted_agents(runs)
    tasks = list(dict.fromkeys(task for each in of for task in each.scores))
    values = [score.score for each in of for score in each.scores.values()]
    span = (
        f", from {measure.amount(min(values))} to {measure.amount(max(values))}" if values else ""
    )
    title = f"{measure.name.capitalize()} per task"
    return Plot(
        id=plot_id,
        title=title,
        caption=caption + seeds_caption(of),
        summary=f"{title}: {plural(len(of), 'run')}, {plural(len(tasks), 'task')}{span}.",
        figure=Figure(
            [mark for place, each in enumerate(of) for mark in _dots(each, tasks, place, len(of))],
            x=figures.rate_axis(measure.name) if measure.is_rate else Axis(measure.name),
            y=figures.rows(
                tasks, each=0 if alone else max(20, 9 * len(of) + 10), striped=not alone
            ),
        ),
        table=_alone_table(of[0].scores, measure) if alone else _table(of, tasks, measure),
        legend=[] if alone else [(each.colour, each.name) for each in of],
    )


def adaptation(result: Result, before: Rates, *, plot_id: str) -> Plot:
    """The scores before adaptation (hollow dots) and after it (full dots)."""
    tasks = list(result.success_rate_per_task)
    first = [before.success_rate_per_task.get(task, 0.0) for task in tasks]
    last = [result.success_rate_per_task[task] for task in tasks]
    places = list(range(len(tasks)))
    ways = figures.intervals(list(zip(first, last, strict=True)), places, figures.SUCCESS, width=3)
    numbers = [
        [task, percent(a), percent(b)] for task, a, b in zip(tasks, first, last, strict=True)
    ]
    mean = (percent(before.mean_success_rate), percent(result.mean_success_rate))
    return Plot(
        id=plot_id,
        title="Before and after adaptation",
        caption=f"Success went from {mean[0]} (hollow) to {mean[1]} (full).",
        summary=f"Mean success {mean[0]} before and {mean[1]} after adaptation.",
        figure=Figure(
            [
                replace(ways, opacity=0.45),
                Dots(first, places, figures.SUCCESS, 11, shape="ring"),
                Dots(last, places, figures.SUCCESS, 13),
            ],
            x=figures.rate_axis("success"),
            y=figures.rows(tasks),
        ),
        table=Table(["task", "before", "after"], numbers),
    )


def steps_to_success(result: Result, *, plot_id: str) -> Plot:
    """A box a task of the steps to the first success of episodes, each of these a dot."""
    tasks = list(result.success_rate_per_task)
    won = [row for row in result.judged if row.success]
    won = [row for row in won if row.task in result.success_rate_per_task]
    by_task = {task: [row.first_success for row in won if row.task == task] for task in tasks}
    longest = max((row.first_success for row in won), default=1)
    return Plot(
        id=plot_id,
        title="Steps to success",
        caption="Each dot is a successful episode, at the step that first succeeded; the box holds "
        "the middle half. Failures are not in it, so a task that is seldom solved may look fast."
        + figures.left_out(len(won)),
        summary=f"{count(len(won))} successful episodes, the longest of {count(longest)} steps.",
        figure=Figure(
            figures.strips(dict(enumerate(by_task.values())), height=0.55, colour=figures.SUCCESS),
            x=Axis("steps", (0, longest * 1.04)),
            y=figures.rows(tasks),
        ),
        table=Table(
            ["task", "successes", "fastest", "median", "slowest"],
            [
                [task, *figures.spread(steps, lambda at: f"{at:,.0f}")]
                for task, steps in by_task.items()
            ],
        ),
    )


def returns(runs: Sequence[NamedRun], *, plot_id: str) -> Plot:
    """A strip for each task, in it one for each agent or run: a dot an episode, and the mean."""
    alone, of = len(runs) == 1, plotted_agents(runs)
    tasks = list(dict.fromkeys(task for _, run in runs for task in run.returns_per_task))
    played = [_episodes(each) for each in of]
    values = [row.return_ for of_agent in played for row in of_agent]
    span = f", from {value(min(values))} to {value(max(values))}" if values else ""
    return Plot(
        id=plot_id,
        title="Returns of episodes",
        caption="Each dot is an episode, the box holds the middle half. The diamond is the mean, "
        "with its 95 % interval." + figures.left_out(max(map(len, played))) + seeds_caption(of),
        summary=f"{plural(len(values), 'episode')} of {plural(len(of), 'run')}{span}.",
        figure=Figure(
            [
                mark
                for place, (each, of_agent) in enumerate(zip(of, played, strict=True))
                for mark in _strips(each, of_agent, tasks, place, of=len(of))
            ],
            x=Axis("return"),
            y=figures.rows(tasks, each=max(90, 46 * len(of))),
        ),
        table=Table(
            [*([] if alone else ["run"]), "task", "episodes", "least", "median", "most", "mean"],
            [
                [
                    *([] if alone else [each.name]),
                    task,
                    *figures.spread([row.return_ for row in of_agent if row.task == task], value),
                    value(each.scores[task].score) if task in each.scores else "–",
                ]
                for each, of_agent in zip(of, played, strict=True)
                for task in tasks
            ],
        ),
        legend=[] if alone else [(each.colour, each.name) for each in of],
    )


def goal_map(result: Result, *, plot_id: str) -> Plot:
    """A map of the goals, coloured by success, with a cross for each that had a fault."""
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
            [*figures.squares(shades), *_crosses(faults)],
            x=_variant_axis(variants),
            y=_rows(tasks),
        ),
        table=Table(
            ["task", "goals solved", "partly", "not solved", "with faults"],
            [[task, *_tally(task, goals)] for task in tasks],
        ),
        legend=_legend(goals, everywhere=len(goals) == len(tasks) * len(variants)),
    )


def difference_maps(runs: Sequence[NamedRun]) -> list[Plot]:
    """Maps of the goals on which a run beats the first, of each run with the first one's plan."""
    alike = (at for at in range(1, len(runs)) if same_plan([runs[at][1], runs[0][1]]))
    return [_difference_map(runs, at) for at in alike]


def _difference_map(runs: Sequence[NamedRun], place: int) -> Plot:
    run, reference = runs[place], runs[0]
    ours, theirs = figures.colour(place), figures.colour(0)
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
        figure=Figure(figures.squares(shades), x=_variant_axis(variants), y=_rows(tasks)),
        table=Table(
            ["task", f"{run[0]} better", f"{reference[0]} better", "difference, points"],
            [
                [task, str(only[task][0]), str(only[task][1]), points(float((r[0] - r[1]).mean()))]
                for task, r in pairs.items()
            ],
        ),
        legend=[
            (ours, f"{run[0]} better"),
            (figures.SHADE, "alike"),
            (theirs, f"{reference[0]} better"),
        ],
    )


def _alone_table(scores: Mapping[str, TaskScore], measure: Measure) -> Table:
    numbers = [
        [task, measure.amount(each.score), _interval(each, measure) or "–", each.of]
        for task, each in scores.items()
    ]
    return Table(["task", measure.name, "95 % interval", "of"], numbers)


def _table(agents: Sequence[PlottedAgent], tasks: Sequence[str], measure: Measure) -> Table:
    def words(each: TaskScore | None) -> str:
        if each is None:
            return "–"
        amount, interval = measure.amount(each.score), _interval(each, measure)
        return f"{amount} ({interval})" if interval else amount

    numbers = [[task, *(words(each.scores.get(task)) for each in agents)] for task in tasks]
    return Table(["task", *(each.name for each in agents)], numbers)


def _dots(agent: PlottedAgent, tasks: Sequence[str], place: int, of: int) -> list[Mark]:
    """The scores of one of `of` agents with their intervals; without a name it is the only one."""
    offset = (place - (of - 1) / 2) * 0.72 / max(of, 2)
    y = [tasks.index(task) + offset for task in agent.scores]
    bounds = [each.interval95 or (each.score, each.score) for each in agent.scores.values()]
    size = (8 if of <= 4 else 6) if agent.name else 10
    return [
        figures.intervals(bounds, y, agent.colour),
        Dots([each.score for each in agent.scores.values()], y, agent.colour, size),
    ]


def _interval(each: TaskScore, measure: Measure) -> str:
    return measure.amounts(each.interval95) if each.interval95 else ""


def _episodes(agent: PlottedAgent) -> list[EpisodeRow]:
    """All episodes that were played to their end."""
    return [row for _, run in agent.runs for row in run.judged if row.status == "ok"]


def _strips(
    agent: PlottedAgent, played: Sequence[EpisodeRow], tasks: Sequence[str], place: int, *, of: int
) -> list[Mark]:
    """The strips of one of `of` agents, and diamonds with the intervals of the tasks' means."""
    offset = (place - (of - 1) / 2) * 0.84 / of
    returns: dict[float, list[float]] = {row + offset: [] for row in range(len(tasks))}
    for episode in played:
        returns[tasks.index(episode.task) + offset].append(episode.return_)
    y = [tasks.index(task) + offset for task in agent.scores]
    bounds = [each.interval95 or (each.score, each.score) for each in agent.scores.values()]
    means = [each.score for each in agent.scores.values()]
    return [
        *figures.strips(returns, height=0.66 / of, colour=agent.colour),
        figures.intervals(bounds, y, figures.NEUTRAL, width=2.5),
        Dots(means, y, agent.colour, 10, shape="diamond"),
    ]


def _rows(tasks: Sequence[str]) -> Rows:
    return figures.rows(tasks, each=0 if len(tasks) > 3 else 40, least=50)


def _variant_axis(variants: Sequence[int]) -> Axis:
    """An x axis with a column a variant, a number under some."""
    every = max(1, math.ceil(len(variants) / 12))
    ticks = {float(n): str(variants[n]) for n in range(0, len(variants), every)}
    return Axis("goal", (-0.5, max(len(variants), 1) - 0.5), ticks=ticks, grid=False)


def _crosses(places: Sequence[tuple[int, int]]) -> list[Line]:
    """A cross in each of these squares."""
    if not places:
        return []
    x = [end for x, _ in places for end in (x - 0.2, x + 0.2, math.nan, x - 0.2, x + 0.2, math.nan)]
    y = [end for _, y in places for end in (y - 0.2, y + 0.2, math.nan, y + 0.2, y - 0.2, math.nan)]
    return [Line(x, y, figures.FAULT, 1.8)]


def _by_goal(result: Result) -> Mapping[tuple[str, int], list[EpisodeRow]]:
    goals: defaultdict[tuple[str, int], list[EpisodeRow]] = defaultdict(list)
    for row in result.judged:
        if row.task in result.success_rate_per_task:
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
    if (rate := _rate(episodes)) is None:
        return figures.SHADE
    shades = (
        bytes.fromhex(each[1:]) for each in (figures.FAILURE, figures.PARTLY, figures.SUCCESS)
    )
    mixed = (np.interp(rate, (0, 0.5, 1), channel) for channel in zip(*shades, strict=True))
    return f"#{bytes(round(each) for each in mixed).hex()}"


def _winner(difference: float, ours: str, theirs: str) -> str:
    """The colour of the better one, fainter where it is hardly better."""
    if not difference:
        return figures.SHADE
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
    legend = [(figures.SUCCESS, "success"), (figures.FAILURE, "failure")]
    if any(0 < (_rate(episodes) or 0) < 1 for episodes in goals.values()):
        legend.insert(1, (figures.PARTLY, "some of its episodes"))
    if not everywhere:
        legend.append((figures.SHADE, "not played"))
    if any(row.status != "ok" for episodes in goals.values() for row in episodes):
        legend.append((figures.FAULT, "a fault"))
    return legend

"""Tables and sentences about several runs: agents over training seeds, pairs, the best one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, scaled
from reglue_bench.formatting import count, listed, p_value, percent, plural
from reglue_bench.measures import seed_statistics
from reglue_bench.measures.compare import Difference, over_pairs
from reglue_bench.measures.seed_statistics import TrainingSeeds, over_training_seeds, scores_by_task
from reglue_bench.plots import figures
from reglue_bench.plots.figures import NamedRun, Plot, Table
from reglue_bench.results.result import Measure, Result
from reglue_bench.results.scores import TaskScore
from reglue_bench.statistics import Interval

Pairs: TypeAlias = Mapping[tuple[int, int], Difference]
"""Differences by the places (later, earlier) of two runs or agents: the later minus the earlier."""

IMPROVEMENT = "probability of improvement"

ALPHA = 0.05
"""The level of significance: of equally good runs, one is called better in 5 % of reports."""


@dataclass(frozen=True, slots=True)
class PlottedAgent:
    """One entry of a plot: an agent over its training seeds, or a single run."""

    name: str  # empty if it is alone
    colour: str
    runs: Sequence[NamedRun]
    scores: Mapping[str, TaskScore]  # by task


@dataclass(frozen=True, slots=True)
class Seeds:
    """Agents with several training seeds, compared."""

    agents: Mapping[str, TrainingSeeds]  # by name
    differences: Pairs  # by their places in `agents`
    table: Table  # a row for each agent
    verdict: str  # which agent has the best score, and whether significantly; may be empty
    pairs: Table | None  # a row for each pair of agents
    profile: Plot
    are_all: bool  # whether each run is one of these seeds


def colours(runs: Sequence[NamedRun]) -> list[str]:
    """A colour for each run; training seeds of one agent share it."""
    keys: list[Hashable] = [
        place if run.agent.training_seed is None else _key(run)
        for place, (_, run) in enumerate(runs)
    ]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return [figures.colour(places[key]) for key in keys]


def plotted_agents(runs: Sequence[NamedRun]) -> list[PlottedAgent]:
    """Agents over their training seeds, and single runs, in the order of their first runs."""
    if len(runs) == 1:
        return [PlottedAgent("", figures.SUCCESS, runs, runs[0][1].score_by_task)]
    whose = {id(run): name for name, of in groups_of(runs).items() for run in of}
    by_agent: dict[str, list[tuple[NamedRun, str]]] = {}
    for named_run, shade in zip(runs, colours(runs), strict=True):
        agent = whose.get(id(named_run[1]), f"run {named_run[0]}")
        by_agent.setdefault(agent, []).append((named_run, shade))
    return [
        _plotted_agent(name, of, is_agent=name in whose.values()) for name, of in by_agent.items()
    ]


def seeds_caption(of: Sequence[PlottedAgent]) -> str:
    """A sentence for captions if some entries are agents over training seeds; else empty."""
    if all(len(each.runs) == 1 for each in of):
        return ""
    return (
        " Of an agent with several training seeds it is the mean over them, whose interval, from "
        "five seeds on, allows for other seeds."
    )


def groups_of(runs: Sequence[NamedRun]) -> dict[str, list[Result]]:
    """The runs of agents with two training seeds or more on one plan, by label.

    Without those of which the value of a unit is not known.
    """
    groups: dict[tuple[str, str, str, bool], dict[int, Result]] = {}
    for _, run in runs:
        if run.agent.training_seed is not None and run.complete:
            groups.setdefault(_key(run), {})[run.agent.training_seed] = run
    by_name: dict[str, list[Result]] = {}
    for (label, title, plan, _), group in groups.items():
        if len(group) > 1 and _compares([*group.values()]):
            name = label if label not in by_name else f"{label} on {title} {plan[:6]}"
            by_name[name] = list(group.values())
    return by_name


def verdict(
    names: Sequence[str], scores: Mapping[int, float], differences: Pairs, of: Measure
) -> str:
    """A sentence that names the run with the best score, and those that it is better than.

    `scores` are by place in `names`. Empty if all runs played alike, or if two of them cannot be
    compared.
    """
    ranked = sorted(scores, key=lambda place: -scores[place])
    if len(ranked) < 2 or any(
        pair[::-1] not in differences for pair in combinations(sorted(ranked), 2)
    ):
        return ""
    best, *others = ranked
    pairs = {other: differences[max(best, other), min(best, other)] for other in others}
    alike = [other for other in others if not pairs[other].unlike]
    tied = [o for o in others if o not in alike and math.isclose(scores[o], scores[best])]
    beaten = [other for other in others if is_beaten(pairs[other], by_later=best > other)]
    level = [other for other in others if other not in [*alike, *tied, *beaten]]
    if len(alike) == len(others):
        return ""
    leaders = _join_names(names, [best, *alike, *tied])
    if alike and not tied:
        leaders += f", alike on every {of.unit},"
    return _VERDICTS[bool(beaten), bool(level)].format(
        leaders=leaders,
        have="have" if alike or tied else "has",
        score=of.name,
        beaten=_join_names(names, beaten),
        level=_join_names(names, level),
        p=_at_most([pairs[other].p_holm or 0.0 for other in beaten], len(differences)),
    )


# By whether some are significantly worse than the best, and whether some are not.
_VERDICTS = {
    (False, False): "{leaders} {have} the same {score}.",
    (False, True): "{leaders} {have} the highest {score}: not significantly better than {level}.",
    (True, False): "{leaders} {have} the highest {score}: better than {beaten} ({p}).",
    (True, True): "{leaders} {have} the highest {score}: better than {beaten} ({p}), but not "
    "significantly better than {level}.",
}


def is_beaten(difference: Difference, *, by_later: bool) -> bool:
    """Whether one of a pair is significantly better: the later, or the earlier."""
    return (
        difference.p_holm is not None
        and difference.p_holm < ALPHA
        and (difference.difference > 0) == by_later
    )


def difference_cells(each: Difference, of: Measure) -> list[str]:
    """A difference, its interval, the probability of improvement and p; `–` where not known."""
    interval, improves = each.interval95, each.probability_of_improvement
    return [
        of.difference(each.difference),
        f"{of.difference(interval[0])} to {of.difference(interval[1])}" if interval else "–",
        "–" if improves is None else percent(improves),
        "–" if each.p_holm is None else p_value(each.p_holm),
    ]


def pair_table(names: Sequence[str], differences: Pairs, of: Measure) -> Table:
    """A row for each pair."""
    rows = [
        [f"{names[later]} − {names[earlier]}", *difference_cells(each, of)]
        for (later, earlier), each in differences.items()
    ]
    return _compared(["", "Δ", "95 % interval", IMPROVEMENT, "p, Holm"], rows)


def run_table(runs: Sequence[NamedRun], to_first: Sequence[Difference | None]) -> Table:
    """A row for each run, with its difference to the first, None of runs that have none."""
    of = runs[0][1].measure
    rows = []
    for (name, run), each in zip(runs, to_first, strict=True):
        score, interval = score_and_interval(run)
        coverage, played = run.coverage, ""
        if of.unit == "run":
            played = f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)} runs"
        difference = ["–"] * 3
        if each is not None:
            amount, ends, *rest = difference_cells(each, of)
            difference = [_lines(amount, ends if each.interval95 else ""), *rest]
        cell = _lines(score or "–", interval, played)
        rows.append([name, cell, *difference])
    columns = [of.entrant, of.name, "Δ to the first", IMPROVEMENT, "p, Holm"]
    return _compared(columns, rows, colours(runs))


def score_and_interval(result: Result) -> tuple[str, str]:
    """A run's score and its interval as texts; empty without a score."""
    score, measure = result.score, result.measure
    amounts = "" if score.interval95 is None else measure.amounts(score.interval95)
    return "" if score.value is None else measure.amount(score.value), amounts


def pair_note(name: str, first: str, difference: Difference, of: Measure) -> str:
    """The reason why a run's difference to the first has no interval, or why its interval excludes
    0 although the corrected p-value is not significant; empty if neither is so.
    """
    if not difference.unlike:
        return f"{name} and {first} came to the same on every {of.unit}."
    if difference.interval95 is None and difference.pairs < of.least:
        return (
            f"The difference of {name} and {first} has no interval: it takes {of.enough}, and "
            f"there are {difference.pairs}."
        )
    if difference.interval95 is None:
        return (
            f"The difference of {name} and {first} has no interval: it is the same on every "
            f"{of.unit}, so there is no spread to judge it by."
        )
    low, high = difference.interval95
    if not low <= 0 <= high and difference.p_holm is not None and difference.p_holm >= ALPHA:
        return (
            f"The interval of {name} and {first} excludes 0, but it is that of one pair alone. "
            f"Corrected for all pairs, p is {p_value(difference.p_holm)}: not significant."
        )
    return ""


def power_notes(differences: Pairs, of: Measure) -> list[str]:
    """A note if there are too few pairs for any difference to be significant."""
    most = max((each.pairs for each in differences.values() if each.unlike), default=0)
    pairs = len(differences)  # for which Holm corrects
    if not most or pairs * of.least_p(most) < ALPHA:
        return []
    enough = next(n for n in range(most, most + 64) if pairs * of.least_p(n) < ALPHA)
    return [
        f"With {plural(most, of.unit)} no difference can be significant, however large. It takes "
        f"{enough}."
    ]


def agents_over_seeds(runs: Sequence[NamedRun]) -> Seeds | None:
    """The comparison of agents over their training seeds; None if none has several."""
    groups, measure = groups_of(runs), runs[0][1].measure
    if not groups or measure.unit == "run":  # an agent that learns has no training seeds
        return None
    of, thresholds = _over_seeds(measure), seed_statistics.thresholds_of(list(groups.values()))
    agents = {
        name: over_training_seeds(
            group, rng=np.random.default_rng(seed_statistics.BOOTSTRAP_SEED), thresholds=thresholds
        )
        for name, group in groups.items()
    }
    pairs = over_pairs(list(groups.values()), seed_statistics.compare_agents)
    shades = {id(run): shade for (_, run), shade in zip(runs, colours(runs), strict=True)}
    of_agents = [shades[id(group[0])] for group in groups.values()]
    means = {place: each.mean for place, each in enumerate(agents.values())}
    return Seeds(
        agents=agents,
        differences=pairs,
        table=_seed_table(agents, of, of_agents),
        verdict=verdict(list(agents), means, pairs, of),
        pairs=pair_table(list(agents), pairs, of) if pairs else None,
        profile=performance_profile(agents, of, of_agents),
        are_all=len(runs) == sum(map(len, groups.values())),
    )


def performance_profile(
    agents: Mapping[str, TrainingSeeds], of: Measure, shades: Sequence[str]
) -> Plot:
    """The share of (seed, task) pairs above each level of the score, with pointwise bands."""
    marks: list[figures.Mark] = []
    for shade, seeds in zip(shades, agents.values(), strict=True):
        levels = seeds.thresholds.tolist()
        if seeds.profile_intervals95 is not None:
            low, high = (ends.tolist() for ends in seeds.profile_intervals95)
            marks.append(figures.Area(levels, low, high, shade))
        marks.append(figures.Line(levels, seeds.profile.tolist(), shade, steps=True))
    ticks = (0, 10, 20, 25, 30, 40, 45, 47)
    score_axis = figures.rate_axis if of.is_rate else figures.Axis
    return Plot(
        id="profile",
        title="Performance profile",
        caption=f"Share of seeds × tasks whose {of.name} lies above a level, with 95 % bands from "
        "five seeds on. Higher is better, wherever it is higher throughout.",
        summary=f"Performance profile of {len(agents)} agents over their training seeds.",
        figure=figures.Figure(
            marks,
            x=score_axis(f"{of.name} above"),
            y=figures.rate_axis("share of seeds × tasks"),
        ),
        table=Table(
            ["above", *agents],
            [
                [
                    of.amount(float(next(iter(agents.values())).thresholds[place])),
                    *(percent(float(seeds.profile[place])) for seeds in agents.values()),
                ]
                for place in ticks
            ],
        ),
        legend=list(zip(shades, agents, strict=True)),
    )


def _key(run: Result) -> tuple[str, str, str, bool]:
    return run.agent.label, run.title, run.plan_sha256, bool(run.privileged)


def _compares(group: Sequence[Result]) -> bool:
    try:
        scores_by_task(group)
    except UsageError:
        return False
    return True


def _plotted_agent(
    name: str, of: Sequence[tuple[NamedRun, str]], *, is_agent: bool
) -> PlottedAgent:
    (first, shade), runs = of[0], [named_run for named_run, _ in of]
    if not is_agent:
        return PlottedAgent(first[0], shade, runs, first[1].score_by_task)
    scores = scores_by_task([run for _, run in runs])
    return PlottedAgent(
        name, shade, runs, {task: _score(task, each, first[1]) for task, each in scores.items()}
    )


def _score(task: str, of_task: FloatArray, run: Result) -> TaskScore:
    """A task's score from scores of shape (seeds, goals)."""
    lowest, highest = seed_statistics.bounds(run, [of_task])
    interval = seed_statistics.over_seeds([[of_task]], lowest=lowest, highest=highest).interval95
    mean = float(scaled(np.mean, of_task))
    return TaskScore(task, run.measure.name, mean, interval, len(of_task), "training seed")


def _at_most(p_values: Sequence[float], pairs: int) -> str:
    """`p < 0.001`, `p = 0.012`, or of several the largest: `p ≤ 0.012`; of how many pairs."""
    text = p_value(max(p_values, default=0.0))
    sign = "" if text.startswith("<") else "= " if len(p_values) == 1 else "≤ "
    return f"p {sign}{text}" + f", corrected for {pairs} pairs" * (pairs > 1)


def _join_names(names: Sequence[str], places: Sequence[int]) -> str:
    return listed([names[place] for place in places]) if places else ""


def _over_seeds(measure: Measure) -> Measure:
    """The measure with training seeds as its units."""
    return replace(
        measure,
        unit="training seed",
        least=seed_statistics.LEAST_SEEDS,
        enough="five training seeds of either",
        least_p=lambda _pairs: 0.0,
    )


def _seed_table(agents: Mapping[str, TrainingSeeds], of: Measure, shades: Sequence[str]) -> Table:
    """A row for each agent over its training seeds."""

    def cell(amount: float, interval: Interval | None) -> str:
        return _lines(of.amount(amount), of.amounts(interval) if interval else "")

    rows = [
        [
            name,
            ", ".join(map(str, each.seeds)),
            cell(each.mean, each.mean_interval95),
            cell(each.iqm, each.iqm_interval95),
        ]
        for name, each in agents.items()
    ]
    mean = "mean success" if of.is_rate else of.name
    return Table(["agent", "training seeds", mean, "interquartile mean"], rows, shades)


def _compared(
    columns: Sequence[str], rows: Sequence[Sequence[str]], shades: Sequence[str] = ()
) -> Table:
    """A table without its column of probabilities of improvement, if none is known."""
    place = columns.index(IMPROVEMENT)
    if all(row[place] == "–" for row in rows):
        columns, *rows = ([*row[:place], *row[place + 1 :]] for row in (columns, *rows))
    return Table(columns, rows, shades)


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))

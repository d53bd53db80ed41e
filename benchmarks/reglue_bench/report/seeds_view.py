"""What the page says about agents with several training seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from reglue.errors import UsageError
from reglue_bench.criteria.criterion import Criterion, Named
from reglue_bench.report.pairs import pair_table, verdict
from reglue_bench.report.plots.figures import colour, escaped, figure, rate_axis, value_axis
from reglue_bench.report.views import ComparisonView, Plot, SeedRow, Table
from reglue_bench.report.words import percent
from reglue_bench.results.result import Result
from reglue_bench.statistics.compare import over_pairs
from reglue_bench.statistics.training_seeds import (
    LEAST_SEEDS,
    TrainingSeeds,
    compare_agents,
    over_training_seeds,
    scores_by_task,
    thresholds_of,
)


def _over_seeds(criterion: Criterion) -> Criterion:
    """The same score, judged over training seeds."""
    return replace(
        criterion,
        unit="training seed",
        least=LEAST_SEEDS,
        enough="five training seeds of either",
        least_p=lambda _pairs: 0.0,
    )


def with_training_seeds(
    view: ComparisonView, runs: Sequence[Named], *, seed: int
) -> ComparisonView:
    """A comparison of runs, with one of the agents that have several; drawn from `seed`."""
    groups = groups_of(runs)
    if not groups:
        return view
    thresholds, of = thresholds_of(list(groups.values())), _over_seeds(runs[0][1].criterion)
    agents = {
        name: over_training_seeds(group, rng=np.random.default_rng(seed), thresholds=thresholds)
        for name, group in groups.items()
    }
    pairs = over_pairs(list(groups.values()), compare_agents)
    means = {place: each.mean for place, each in enumerate(agents.values())}
    has_others = len(runs) > sum(map(len, groups.values()))
    return replace(
        view,
        verdict=view.verdict if has_others else "",  # a training seed has no rank of its own
        seeds=[_seed_row(place, *each, of) for place, each in enumerate(agents.items())],
        seeds_verdict=verdict(list(agents), means, pairs, of),
        agents=pair_table(list(agents), pairs, of) if pairs else None,
        plots=[performance_profile(agents, of)],
    )


def performance_profile(agents: Mapping[str, TrainingSeeds], of: Criterion) -> Plot:
    """Share of (seed, task) pairs above each level of the score, with pointwise bands."""
    traces: list[go.Scatter] = []
    for place, (name, seeds) in enumerate(agents.items()):
        levels = seeds.thresholds.tolist()
        if seeds.profile_intervals95 is not None:
            low, high = (ends.tolist() for ends in seeds.profile_intervals95)
            traces.append(
                go.Scatter(
                    x=[*levels, *levels[::-1]],
                    y=[*high, *low[::-1]],
                    fill="toself",
                    fillcolor=colour(place),
                    opacity=0.16,
                    mode="none",
                    hoverinfo="skip",
                )
            )
        traces.append(
            go.Scatter(
                x=levels,
                y=seeds.profile.tolist(),
                mode="lines",
                line={"color": colour(place), "width": 2.5, "shape": "hv"},
                hoverinfo="text",
                hovertext=[
                    f"<b>{escaped(name)}</b><br>{percent(share)} above {of.amount(level)}"
                    for level, share in zip(levels, seeds.profile.tolist(), strict=True)
                ],
            )
        )
    shown = (0, 10, 20, 25, 30, 40, 45, 47)
    return Plot(
        id="profile",
        title="Performance profile",
        caption=f"Share of seeds × tasks whose {of.name} lies above a level, with 95 % bands from "
        "five seeds on. Higher is better, wherever it is higher throughout.",
        summary=f"Performance profile of {len(agents)} agents over their training seeds.",
        figure=figure(
            traces,
            height=320,
            xaxis=rate_axis("success above") if of.is_rate else value_axis(f"{of.name} above"),
            yaxis=value_axis(
                "share of seeds × tasks", range=[-0.02, 1.04], tickformat=".0%", automargin=True
            ),
        ),
        table=Table(
            ["above", *agents],
            [
                [
                    of.amount(float(next(iter(agents.values())).thresholds[place])),
                    *(percent(float(seeds.profile[place])) for seeds in agents.values()),
                ]
                for place in shown
            ],
        ),
        legend=[(colour(place), name) for place, name in enumerate(agents)],
    )


def _compares(group: Sequence[Result]) -> bool:
    """Whether its runs can be taken together: of returns every episode has to be there."""
    try:
        scores_by_task(group)
    except UsageError:
        return False
    return True


def _seed_row(place: int, name: str, found: TrainingSeeds, of: Criterion) -> SeedRow:
    return SeedRow(
        name=name,
        colour=colour(place),
        seeds=", ".join(str(seed) for seed in found.seeds),
        mean=of.amount(found.mean),
        mean_interval=of.amounts(found.mean_interval95) if found.mean_interval95 else "",
        iqm=of.amount(found.iqm),
        iqm_interval=of.amounts(found.iqm_interval95) if found.iqm_interval95 else "",
    )


def groups_of(runs: Sequence[Named]) -> dict[str, list[Result]]:
    """As `agents_of`, of those whose runs can be taken together."""
    return {name: group for name, group in agents_of(runs).items() if _compares(group)}


def agents_of(runs: Sequence[Named]) -> dict[str, list[Result]]:
    """The runs of agents with two training seeds or more on one plan, by label."""
    groups: dict[tuple[str, str, str, bool], dict[int, Result]] = {}
    for _, run in runs:
        if run.agent.training_seed is not None and run.complete:
            key = (run.agent.label, run.title, run.plan_sha256, bool(run.privileged))
            groups.setdefault(key, {})[run.agent.training_seed] = run
    found: dict[str, list[Result]] = {}
    for (label, benchmark, plan, _), group in groups.items():
        if len(group) > 1:
            name = label if label not in found else f"{label} on {benchmark} {plan[:6]}"
            found[name] = list(group.values())
    return found

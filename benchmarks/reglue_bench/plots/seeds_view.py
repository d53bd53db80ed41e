"""What the page says about agents with several training seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from reglue_bench.formatting import percent
from reglue_bench.measures.compare import over_pairs
from reglue_bench.measures.seed_statistics import (
    BOOTSTRAP_SEED,
    LEAST_SEEDS,
    TrainingSeeds,
    compare_agents,
    over_training_seeds,
    thresholds_of,
)
from reglue_bench.plots.agent_plots import colours, groups_of
from reglue_bench.plots.figures import Area, Axis, Figure, Line, Mark, rate_axis
from reglue_bench.plots.pairs import pair_table, verdict
from reglue_bench.plots.views import ComparisonView, NamedRun, Plot, SeedRow, Table
from reglue_bench.results.result import Measure


def _over_seeds(measure: Measure) -> Measure:
    """The score over training seeds instead of goals."""
    return replace(
        measure,
        unit="training seed",
        least=LEAST_SEEDS,
        enough="five training seeds of either",
        least_p=lambda _pairs: 0.0,
    )


def with_training_seeds(view: ComparisonView, runs: Sequence[NamedRun]) -> ComparisonView:
    """A comparison of runs, with one of the agents that have several."""
    groups = groups_of(runs)
    if not groups:
        return view
    thresholds, of = thresholds_of(list(groups.values())), _over_seeds(runs[0][1].measure)
    agents = {
        name: over_training_seeds(
            group, rng=np.random.default_rng(BOOTSTRAP_SEED), thresholds=thresholds
        )
        for name, group in groups.items()
    }
    pairs = over_pairs(list(groups.values()), compare_agents)
    shades = {id(run): shade for (_, run), shade in zip(runs, colours(runs), strict=True)}
    of_agents = [shades[id(group[0])] for group in groups.values()]
    means = {place: each.mean for place, each in enumerate(agents.values())}
    has_others = len(runs) > sum(map(len, groups.values()))
    return replace(
        view,
        verdict=view.verdict if has_others else "",  # a training seed has no rank of its own
        seeds=[
            _seed_row(name, scores, of, shade)
            for (name, scores), shade in zip(agents.items(), of_agents, strict=True)
        ],
        seeds_verdict=verdict(list(agents), means, pairs, of),
        are_all_seeds=not has_others,
        agents=pair_table(list(agents), pairs, of) if pairs else None,
        plots=[performance_profile(agents, of, of_agents)],
    )


def performance_profile(
    agents: Mapping[str, TrainingSeeds], of: Measure, shades: Sequence[str]
) -> Plot:
    """Share of (seed, task) pairs above each level of the score, with pointwise bands."""
    marks: list[Mark] = []
    for shade, seeds in zip(shades, agents.values(), strict=True):
        levels = seeds.thresholds.tolist()
        if seeds.profile_intervals95 is not None:
            low, high = (ends.tolist() for ends in seeds.profile_intervals95)
            marks.append(Area(levels, low, high, shade))
        marks.append(Line(levels, seeds.profile.tolist(), shade, steps=True))
    ticks = (0, 10, 20, 25, 30, 40, 45, 47)
    return Plot(
        id="profile",
        title="Performance profile",
        caption=f"Share of seeds × tasks whose {of.name} lies above a level, with 95 % bands from "
        "five seeds on. Higher is better, wherever it is higher throughout.",
        summary=f"Performance profile of {len(agents)} agents over their training seeds.",
        figure=Figure(
            marks,
            x=rate_axis("success above") if of.is_rate else Axis(f"{of.name} above"),
            y=rate_axis("share of seeds × tasks"),
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


def _seed_row(name: str, scores: TrainingSeeds, of: Measure, shade: str) -> SeedRow:
    return SeedRow(
        name=name,
        colour=shade,
        seeds=", ".join(str(seed) for seed in scores.seeds),
        mean=of.amount(scores.mean),
        mean_interval=of.amounts(scores.mean_interval95) if scores.mean_interval95 else "",
        iqm=of.amount(scores.iqm),
        iqm_interval=of.amounts(scores.iqm_interval95) if scores.iqm_interval95 else "",
    )

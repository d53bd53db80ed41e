"""What the page says about several runs, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reglue_bench.report.comparison_plots import (
    Named,
    difference_map,
    grouped_success,
    performance_profile,
)
from reglue_bench.report.figures import colour
from reglue_bench.report.pairs import (
    Judged,
    compared_row,
    every_pair,
    pair_note,
    pair_table,
    power_notes,
    verdict,
)
from reglue_bench.report.run_view import score_and_interval, success_track
from reglue_bench.report.views import ComparisonView, Row, SeedRow
from reglue_bench.report.words import percent, percents, points, signed
from reglue_bench.results.result import Result
from reglue_bench.statistics.compare import Difference, compare_all, over_pairs
from reglue_bench.statistics.intervals import LEAST_GOALS, of_success
from reglue_bench.statistics.training_seeds import (
    LEAST_SEEDS,
    TrainingSeeds,
    compare_agents,
    over_training_seeds,
)


def _least_p(goals: int) -> float:
    found = of_success({"": np.ones(goals)})
    return 1.0 if found.p_value is None else found.p_value


GOALS = Judged(
    unit="goal",
    least=LEAST_GOALS,
    enough="five goals",
    score="success",
    amount=points,
    least_p=_least_p,
)


RETURNS = Judged(unit="episode", least=2, enough="two episodes", score="mean return", amount=signed)
SEEDS = Judged(
    unit="training seed",
    least=LEAST_SEEDS,
    enough="five training seeds of either",
    score="success",
    amount=points,
)


def comparison_view(runs: Sequence[Named], *, seed: int) -> ComparisonView:
    """Every run against the first, and agents over their training seeds."""
    found = compare_all([run for _, run in runs])
    by_return = any(run.is_by_return for _, run in runs)
    of = RETURNS if by_return else GOALS
    groups = {} if by_return else _agents(runs)
    agents = {
        name: over_training_seeds(group, rng=np.random.default_rng(seed))
        for name, group in groups.items()
    }
    pairs = over_pairs(list(groups.values()), compare_agents)
    maps = [difference_map(runs, place) for place in range(1, len(runs) * (not by_return))]
    plots = [] if by_return else [grouped_success(runs)]
    if agents:
        plots.insert(0, performance_profile(agents))
    names = [name for name, _ in runs]
    scores = {
        place: rate
        for place, (_, run) in enumerate(runs)
        if run.complete and not run.baseline
        if (rate := run.mean_returns if by_return else run.success.rate) is not None
    }
    return ComparisonView(
        score=of.score,
        verdict=verdict(names, scores, found, of),
        pairs=every_pair(names, found, of),
        caption="Mean return, as the environment does not tell of success. Differences are in the "
        "task's units, paired episode by episode."
        if by_return
        else "Success over planned goals. Differences are in percentage points, paired goal by "
        "goal.",
        rows=[_row(place, named, found.get((place, 0)), of) for place, named in enumerate(runs)],
        notes=_notes(runs, found, of),
        seeds=[_seed_row(place, *each) for place, each in enumerate(agents.items())],
        seeds_verdict=verdict(
            list(agents),
            {place: each.mean for place, each in enumerate(agents.values())},
            pairs,
            SEEDS,
        ),
        agents=pair_table(list(agents), pairs, SEEDS) if pairs else None,
        plots=plots,
        maps=[each for each in maps if each is not None],
    )


def _row(place: int, named: Named, found: Difference | None, of: Judged) -> Row:
    name, run = named
    score, interval = score_and_interval(run)
    row = Row(
        name=name,
        colour=colour(place),
        badges=badges(run),
        track=success_track(run),
        score=score,
        score_interval=interval,
    )
    return row if found is None else compared_row(row, found, of)


def badges(run: Result) -> str:
    """What to beware of, in a word or two."""
    words = [] if run.complete else ["partial"]
    if run.upstream is not None:
        words.append(f"metaworld.evaluation: {percent(run.upstream.mean_success_rate)}")
    return ", ".join([*words, *(["baseline"] if run.baseline else [])])


def _seed_row(place: int, name: str, found: TrainingSeeds) -> SeedRow:
    return SeedRow(
        name=name,
        colour=colour(place),
        seeds=", ".join(str(seed) for seed in found.seeds),
        mean=percent(found.mean),
        mean_interval=percents(found.mean_interval95) if found.mean_interval95 else "",
        iqm=percent(found.iqm),
        iqm_interval=percents(found.iqm_interval95) if found.iqm_interval95 else "",
    )


def _notes(
    runs: Sequence[Named], found: Mapping[tuple[int, int], Difference], of: Judged
) -> list[str]:
    notes = []
    for place, (name, _) in enumerate(runs[1:], 1):
        each = found.get((place, 0))
        if each is None:
            notes.append(
                f"{name} and {runs[0][0]} did not play the same episodes to their end: they stand "
                "side by side and are not compared."
                if of is RETURNS
                else f"{name} and {runs[0][0]} have no goal in common (another benchmark, split, "
                "seed or horizon makes other goals of them): they stand side by side and are not "
                "compared."
            )
            continue
        if not each.same_plan:
            notes.append(
                f"{name} and {runs[0][0]} played different plans: they are paired on the "
                f"{each.pairs} goals that both played."
            )
        notes.append(pair_note(name, runs[0][0], each, of))
    notes += power_notes(found, of)
    notes += [f"{name} is partial, and is not ranked." for name, run in runs if not run.complete]
    if any(run.baseline for _, run in runs):
        notes.append("Baselines were told what the benchmark hides: they are not to be ranked.")
    return [note for note in notes if note]


def _agents(runs: Sequence[Named]) -> dict[str, list[Result]]:
    """The runs of agents with two training seeds or more on one plan, by label."""
    groups: dict[tuple[str, str, str, bool], dict[int, Result]] = {}
    for _, run in runs:
        if run.agent.training_seed is not None and run.complete:
            key = (run.agent.label, run.benchmark, run.plan_sha256, bool(run.baseline))
            groups.setdefault(key, {})[run.agent.training_seed] = run
    found: dict[str, list[Result]] = {}
    for (label, benchmark, plan, _), group in groups.items():
        if len(group) > 1:
            name = label if label not in found else f"{label} on {benchmark} {plan[:6]}"
            found[name] = list(group.values())
    return found

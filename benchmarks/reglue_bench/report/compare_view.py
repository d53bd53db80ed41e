"""What the page says about several runs, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from reglue.errors import UsageError
from reglue_bench.report.comparison_plots import (
    Named,
    difference_map,
    grouped_success,
    performance_profile,
)
from reglue_bench.report.figures import colour
from reglue_bench.report.learning_comparison_plots import Shown, compared
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
from reglue_bench.report.tracks import value_tracks
from reglue_bench.report.views import ComparisonView, Row, SeedRow, Track
from reglue_bench.report.words import count, percent, percents, points, signed
from reglue_bench.results.result import JudgedBy, Result
from reglue_bench.statistics.compare import Difference, compare_all, over_pairs
from reglue_bench.statistics.intervals import LEAST_GOALS, of_success
from reglue_bench.statistics.training_seeds import (
    LEAST_SEEDS,
    TrainingSeeds,
    compare_agents,
    over_training_seeds,
)
from reglue_bench.terminal.summary import (
    scored_as_worst,
    what_is_measured,
    why_withheld,
)


def _least_p(goals: int) -> float:
    found = of_success({"": np.ones(goals)})
    return 1.0 if found.p_value is None else found.p_value


KINDS: Mapping[JudgedBy, Judged] = {
    "success": Judged(
        unit="goal",
        least=LEAST_GOALS,
        enough="five goals",
        score="success",
        amount=points,
        least_p=_least_p,
    ),
    "return": Judged(
        unit="episode", least=2, enough="two episodes", score="mean return", amount=signed
    ),
    "performance": Judged(
        unit="run", least=2, enough="two runs of either", score="performance", amount=signed
    ),
}
SEEDS = Judged(
    unit="training seed",
    least=LEAST_SEEDS,
    enough="five training seeds of either",
    score="success",
    amount=points,
)


def comparison_view(runs: Sequence[Named], *, seed: int) -> ComparisonView:
    """Every run against the first, and agents over their training seeds."""
    judged_by = _judged_by(runs)
    of, found = KINDS[judged_by], compare_all([run for _, run in runs])
    names = [name for name, _ in runs]
    alike = [place for place in range(len(runs)) if place == 0 or (place, 0) in found]
    ranked = {
        place: score
        for place, (_, run) in enumerate(runs)
        if run.complete and not run.baseline and (score := run.score[0]) is not None
        if judged_by != "performance" or place in alike
    }
    tracks = _tracks(runs, judged_by, alike)
    view = ComparisonView(
        score=of.score,
        verdict=verdict(names, ranked, found, of),
        pairs=every_pair(names, found, of),
        caption=_caption(runs[0][1], judged_by),
        rows=[
            _row(place, named, tracks.get(place), found.get((place, 0)), of)
            for place, named in enumerate(runs)
        ],
        notes=_notes(runs, found, judged_by),
        plots=[],
    )
    match judged_by:
        case "success":
            return _with_goals(view, runs, seed=seed)
        case "performance":
            return replace(view, plots=compared([_shown(runs, place) for place in alike]))
        case "return":
            return view


def _judged_by(runs: Sequence[Named]) -> JudgedBy:
    """What all are judged by. Raises UsageError for agents that learn beside others."""
    kinds = {run.judged_by for _, run in runs}
    if "performance" in kinds and len(kinds) > 1:
        other = next(run for _, run in runs if run.online is None)
        raise UsageError(
            f"{other.benchmark} is not an online benchmark; compare it in a report of its own"
        )
    return "return" if len(kinds) > 1 else kinds.pop()


def _with_goals(view: ComparisonView, runs: Sequence[Named], *, seed: int) -> ComparisonView:
    """With what is known of success goal by goal, and over training seeds."""
    groups = _agents(runs)
    agents = {
        name: over_training_seeds(group, rng=np.random.default_rng(seed))
        for name, group in groups.items()
    }
    pairs = over_pairs(list(groups.values()), compare_agents)
    means = {place: each.mean for place, each in enumerate(agents.values())}
    maps = [difference_map(runs, place) for place in range(1, len(runs))]
    profile = [performance_profile(agents)] if agents else []
    return replace(
        view,
        seeds=[_seed_row(place, *each) for place, each in enumerate(agents.items())],
        seeds_verdict=verdict(list(agents), means, pairs, SEEDS),
        agents=pair_table(list(agents), pairs, SEEDS) if pairs else None,
        plots=[*profile, grouped_success(runs)],
        maps=[each for each in maps if each is not None],
    )


def _shown(runs: Sequence[Named], place: int) -> Shown:
    name, run = runs[place]
    assert run.online is not None
    return Shown(name, run.online, colour(place))


def _tracks(
    runs: Sequence[Named], judged_by: JudgedBy, alike: Sequence[int]
) -> Mapping[int, Track | None]:
    if judged_by == "success":
        return {place: success_track(run) for place, (_, run) in enumerate(runs)}
    if judged_by == "return":
        return {}
    scores = [_shown(runs, place).online for place in alike]
    return dict(zip(alike, value_tracks(scores), strict=True))


def _caption(first: Result, judged_by: JudgedBy) -> str:
    if first.online is not None:
        return (
            f"Performance: {what_is_measured(first.online)}, mean over runs. Differences are in "
            "the task's units, paired run by run."
        )
    if judged_by == "return":
        return (
            "Mean return, as the environment does not tell of success. Differences are in the "
            "task's units, paired episode by episode."
        )
    return "Success over planned goals. Differences are in percentage points, paired goal by goal."


def _row(
    place: int, named: Named, track: Track | None, found: Difference | None, of: Judged
) -> Row:
    name, run = named
    score, interval = score_and_interval(run)
    online = run.online
    row = Row(
        name=name,
        colour=colour(place),
        badges=badges(run),
        track=track,
        score=score or "–",
        score_interval=interval,
        played=f"{count(len(online.completed))} of {count(len(online.runs))}" if online else "",
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
    runs: Sequence[Named], found: Mapping[tuple[int, int], Difference], judged_by: JudgedBy
) -> list[str]:
    of, notes = KINDS[judged_by], []
    for place, (name, _) in enumerate(runs[1:], 1):
        each = found.get((place, 0))
        if each is None:
            notes.append(_side_by_side(runs[place], runs[0], judged_by))
            continue
        if not each.same_plan and judged_by == "success":
            notes.append(
                f"{name} and {runs[0][0]} played different plans: they are paired on the "
                f"{each.pairs} goals that both played."
            )
        notes.append(pair_note(name, runs[0][0], each, of))
    notes += power_notes(found, of)
    for name, run in runs:
        if run.online is not None:
            told = (*scored_as_worst(run.online), *why_withheld(run.online))
            notes += [f"{name}: {words}." for words in told]
        elif not run.complete:
            notes.append(f"{name} is partial, and is not ranked.")
    if any(run.baseline for _, run in runs):
        notes.append("Baselines were told what the benchmark hides: they are not to be ranked.")
    return [note for note in dict.fromkeys(notes) if note]


def _side_by_side(named: Named, first: Named, judged_by: JudgedBy) -> str:
    """Why two runs are not compared."""
    both = f"{named[0]} and {first[0]}"
    if judged_by == "success":
        return (
            f"{both} have no goal in common (another benchmark, split, seed or horizon makes other "
            "goals of them): they stand side by side and are not compared."
        )
    if judged_by == "return":
        return (
            f"{both} did not play the same episodes to their end: they stand side by side and are "
            "not compared."
        )
    for name, run in (named, first):
        if run.score[0] is None:
            return f"{name} has no score, and is not compared."
    return (
        f"{both} did not measure the same (another environment, length of a run, measure or worst "
        "performance): they stand side by side and are not compared."
    )


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

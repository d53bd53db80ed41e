"""A phase's leaderboard, from the store and the folders of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.learning import with_failed_runs
from reglue_bench.results.result import Measure, Result, parse_result
from reglue_bench.run_folder import LEDGER
from reglue_bench.statistics import Interval
from reglue_competition.definition import Definition, Total, Track
from reglue_competition.ranking.comparisons import Comparisons
from reglue_competition.ranking.ranks import Ranked, best_first, rank
from reglue_competition.ranking.scored_submissions import (
    HOW_CHOSEN,
    ChosenBy,
    RankedBenchmark,
    ScoredSubmission,
    choose_submissions,
)
from reglue_competition.store import SCORED, Phase, Ruling, Run, Store, Submission

_ELSEWHERE = "not of this track"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """A submission's score on one benchmark."""

    score: float | None
    interval95: Interval | None
    faults: Mapping[str, int]  # judged episodes (online: runs) without an end of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A team's place."""

    rank: int | None  # from 1, may be shared; None: it has no score, or is not ranked
    team: str
    submission: Submission  # with how many of its team's are broken
    score: float | None  # its total: the weighted mean over benchmarks, of scores or of ranks
    interval95: Interval | None  # None: unknown, or of a mean rank
    runs: Sequence[RunScore]  # one for each benchmark
    chosen_by: ChosenBy | None = None  # None: it does not count, by a ruling
    ruling: Ruling | None = None  # why it is not ranked like others

    @property
    def is_struck(self) -> bool:
        """Whether it stands there only to say that it does not count."""
        return self.ruling is not None and self.ruling.standing != "unranked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """A phase's teams, the best first; then what does not count by a ruling."""

    phase: Phase
    benchmarks: Sequence[RankedBenchmark]
    measures: Sequence[Measure | None]  # of each benchmark; None: not played yet
    rows: Sequence[Row]
    total: Total  # what the rows' `score` is
    track: Track | None  # None: all benchmarks that are not void count
    left_out: Mapping[str, str]
    """Ids of submissions that are missing although they have a score, with the reason: their
    results cannot be read.
    """

    @property
    def places(self) -> Sequence[int]:
        """The indexes of the benchmarks that it is over."""
        every = range(len(self.benchmarks))
        return [place for place in every if self.track is None or self.track.holds(place)]

    @property
    def is_rate(self) -> bool:
        """Whether totals are shares: of success, or of the way from the worst score to the best."""
        return self.total == "score" and all(
            each.is_rate or each.scale or each.void for each in self.benchmarks
        )


def leaderboard(
    definition: Definition,
    phase: Phase,
    store: Store,
    runs_folder: Path,
    *,
    track: Track | None = None,
    comparisons: Comparisons | None = None,
    before: datetime | None = None,
) -> Leaderboard:
    """Rank the scored submission that counts for each team, by `ranks.rule`.

    Args:
        definition: The competition's.
        phase: One of its phases.
        store: Of the competition.
        runs_folder: Holds the runs, `Submission.folder/INDEX`; teams are compared by their ledgers,
            or by their intervals alone where those are missing.
        track: One of the phase's, whose benchmarks alone count; None: all of them.
        comparisons: Of an earlier leaderboard of this phase; new ones are added.
        before: Only what ended and was chosen before then counts; None: all that has a score.
    """
    scored = _scored(definition, phase, store, runs_folder, track, before)
    benchmarks = scored.benchmarks
    ranking, choose = definition.ranking, definition.ranking.choose
    ranked_entries = choose_submissions(scored.entries, benchmarks, choose)
    comparisons = Comparisons() if comparisons is None else comparisons
    comparisons.retain(ranked_entries)
    ranked = rank(ranked_entries, benchmarks, comparisons, ranking)
    comparisons.save()
    rows = [
        _row(each, scored.submissions, benchmarks, chosen_by=each.entry.chosen_by(choose))
        for each in ranked
    ]
    for entry in scored.entries:
        if (ruling := scored.rulings.get(entry.submission)) is not None:
            # It has no rank on any benchmark, so no mean of them.
            score, interval = entry.total(benchmarks) if ranking.total == "score" else (None, None)
            outside = Ranked(rank=None, entry=entry, score=score, interval95=interval)
            rows.append(_row(outside, scored.submissions, benchmarks, ruling=ruling))
    rows.sort(key=lambda row: (row.is_struck, best_first(row.score, ranking)))
    return Leaderboard(
        phase=phase,
        benchmarks=benchmarks,
        measures=scored.measures,
        rows=rows,
        total=ranking.total,
        track=track,
        left_out=scored.left_out,
    )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The submission that counts for a team."""

    submission: Submission
    by: ChosenBy

    @property
    def how(self) -> str:
        """`by` in words."""
        return HOW_CHOSEN[self.by]


def chosen(definition: Definition, phase: Phase, store: Store, runs_folder: Path) -> list[Chosen]:
    """The submission that counts for each team on a phase's leaderboard, which is not made."""
    scored, choose = _scored(definition, phase, store, runs_folder), definition.ranking.choose
    found = choose_submissions(scored.entries, scored.benchmarks, choose)
    return [Chosen(scored.submissions[e.submission], e.chosen_by(choose)) for e in found]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A phase's scored submissions."""

    submissions: Mapping[str, Submission]
    entries: Sequence[ScoredSubmission]
    benchmarks: Sequence[RankedBenchmark]
    measures: Sequence[Measure | None]
    rulings: Mapping[str, Ruling]
    left_out: Mapping[str, str]


def _scored(
    definition: Definition,
    phase: Phase,
    store: Store,
    runs_folder: Path,
    track: Track | None = None,
    before: datetime | None = None,
) -> _Scored:
    of_phase = store.submissions(phase=phase.name, statuses=SCORED)
    submissions = {
        each.id: each for each in of_phase if before is None or each.ended_before(before)
    }
    results, left_out = _results(store, phase, submissions, runs_folder)
    entered = definition.phase(phase.name).benchmarks
    measures = [_measure(place, results) for place in range(len(entered))]
    rulings, voids = store.rulings(), store.voids(phase.name)
    choices = store.choices(phase.name, before)
    benchmarks = [
        RankedBenchmark(
            each.benchmark,
            each.weight,
            measure is None or measure.is_rate,
            void=voids.get(place, "" if track is None or track.holds(place) else _ELSEWHERE),
            scale=each.scale,
        )
        for place, (each, measure) in enumerate(zip(entered, measures, strict=True))
    ]
    may_know = frozenset(["tasks"] if definition.agents_see.tasks else [])
    entries = [
        ScoredSubmission(
            team=each.team,
            submission=each.id,
            order=each.queued_at.timestamp(),
            results=results[each.id],
            has_failed=each.status == "failed",
            may_know=may_know,
            standing=rulings[each.id].standing if each.id in rulings else "ranked",
            is_chosen=choices.get(each.team) == each.id,
        )
        for each in submissions.values()
        if each.id not in left_out
    ]
    return _Scored(submissions, entries, benchmarks, measures, rulings, left_out)


def _results(
    store: Store, phase: Phase, submissions: Mapping[str, Submission], runs_folder: Path
) -> tuple[dict[str, dict[int, Result]], dict[str, str]]:
    """Results by submission and index of the benchmark; why those of a submission are unreadable"""
    results: dict[str, dict[int, Result]] = {each: {} for each in submissions}
    left_out: dict[str, str] = {}
    for run in store.runs(phase=phase.name):
        if run.submission not in results or not run.result:
            continue
        try:
            result = result_of_run(run)
        except UsageError as error:
            left_out[run.submission] = str(error)
            continue
        if submissions[run.submission].status == "failed":
            result = with_failed_runs(result)
        folder = runs_folder / submissions[run.submission].folder / str(run.index)
        if (folder / LEDGER).is_file():
            result = result.with_episodes(Episodes(folder))
        results[run.submission][run.index] = result
    return results, left_out


def result_of_run(run: Run) -> Result:
    """The result that the store holds of a run. Raises UsageError if it cannot be read."""
    return parse_result(run.result, f"run {run.index} of submission {run.submission}")


def _measure(place: int, results: Mapping[str, Mapping[int, Result]]) -> Measure | None:
    """A benchmark's measure, from any run of it."""
    return next((of[place].measure for of in results.values() if place in of), None)


def _row(
    ranked: Ranked,
    submissions: Mapping[str, Submission],
    benchmarks: Sequence[RankedBenchmark],
    *,
    chosen_by: ChosenBy | None = None,
    ruling: Ruling | None = None,
) -> Row:
    return Row(
        rank=ranked.rank,
        team=ranked.entry.team,
        submission=submissions[ranked.entry.submission],
        score=ranked.score,
        interval95=ranked.interval95,
        runs=[run_score(ranked.entry, place, each) for place, each in enumerate(benchmarks)],
        chosen_by=chosen_by,
        ruling=ruling,
    )


def run_score(entry: ScoredSubmission, place: int, benchmark: RankedBenchmark) -> RunScore:
    """A submission's score on the benchmark at an index."""
    score, interval = entry.score(place, benchmark)
    result = entry.results.get(place)
    counts = result.status_counts if result else {}
    return RunScore(
        score=score,
        interval95=interval,
        faults={status: count for status, count in counts.items() if status != "ok" and count},
    )

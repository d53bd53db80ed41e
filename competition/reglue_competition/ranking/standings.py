"""A phase's leaderboard, from what the store and the runs' folders keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reglue_bench.results.episodes import Episodes
from reglue_bench.results.learning import with_failed_runs
from reglue_bench.results.result import Measure, Result
from reglue_bench.run_folder import LEDGER
from reglue_bench.statistics import Interval
from reglue_competition.definition import Definition
from reglue_competition.ranking.entries import Benchmark, Entry, chosen
from reglue_competition.ranking.pairs import Comparisons
from reglue_competition.ranking.ranks import Ranked, rank
from reglue_competition.store import Phase, Status, Store, Submission

SCORED: tuple[Status, ...] = ("finished", "failed")
"""The statuses of submissions that have a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """What a submission came to on one benchmark."""

    score: float | None
    interval95: Interval | None
    faults: Mapping[str, int]  # judged episodes (online: runs) without an end of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A team's place."""

    rank: int | None  # from 1, may be shared; None: it has no score
    team: str
    submission: Submission
    score: float | None  # the weighted mean over benchmarks
    interval95: Interval | None
    runs: Sequence[RunScore]  # one for each benchmark

    @property
    def faults(self) -> Mapping[str, int]:
        """Over all benchmarks."""
        return sum((Counter(run.faults) for run in self.runs), Counter())


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """A phase's teams, the best first."""

    phase: Phase
    benchmarks: Sequence[Benchmark]
    measures: Sequence[Measure | None]  # of each benchmark; None: not played yet
    rows: Sequence[Row]


def leaderboard(
    definition: Definition,
    phase: Phase,
    store: Store,
    runs_folder: Path,
    *,
    compared: Comparisons | None = None,
) -> Leaderboard:
    """Each team's best or last submission that was scored, by `ranks.RULE`.

    Args:
        definition: The competition's.
        phase: One of its phases.
        store: Of the competition.
        runs_folder: Holds the runs, `Submission.folder/INDEX`; teams are compared by their ledgers,
            or by their intervals alone where those are missing.
        compared: What was compared for an earlier leaderboard of this phase; it is kept up.
    """
    of_phase = store.submissions(phase=phase.name, statuses=SCORED)
    submissions = {each.id: each for each in of_phase}
    results = _results(store, phase, submissions, runs_folder)
    asked = definition.phase(phase.name).benchmarks
    measures = [_measure(place, results) for place in range(len(asked))]
    benchmarks = [
        Benchmark(each.benchmark, each.weight, measure is None or measure.is_rate)
        for each, measure in zip(asked, measures, strict=True)
    ]
    may_know = frozenset(["tasks"] if definition.agents_see.tasks else [])
    entries = [
        Entry(
            team=each.team,
            submission=each.id,
            order=each.queued_at.timestamp(),
            results=results[each.id],
            has_failed=each.status == "failed",
            may_know=may_know,
        )
        for each in submissions.values()
    ]
    ranked_entries = chosen(entries, benchmarks, definition.ranking.choose)
    compared = Comparisons() if compared is None else compared
    compared.forget(ranked_entries)
    ranked = rank(ranked_entries, benchmarks, compared)
    compared.keep()
    rows = [_row(each, submissions[each.entry.submission], benchmarks) for each in ranked]
    return Leaderboard(phase=phase, benchmarks=benchmarks, measures=measures, rows=rows)


def _results(
    store: Store, phase: Phase, submissions: Mapping[str, Submission], runs_folder: Path
) -> dict[str, dict[int, Result]]:
    """By submission and place of the benchmark."""
    found: dict[str, dict[int, Result]] = {each: {} for each in submissions}
    for run in store.runs(phase=phase.name):
        if run.submission not in found or not run.result:
            continue
        result = Result.model_validate_json(run.result)
        if submissions[run.submission].status == "failed":
            result = with_failed_runs(result)
        folder = runs_folder / submissions[run.submission].folder / str(run.index)
        if (folder / LEDGER).is_file():
            result = result.with_episodes(Episodes(folder))
        found[run.submission][run.index] = result
    return found


def _measure(place: int, results: Mapping[str, Mapping[int, Result]]) -> Measure | None:
    """What a benchmark is judged by, from any play of it."""
    return next((of[place].measure for of in results.values() if place in of), None)


def _row(ranked: Ranked, submission: Submission, benchmarks: Sequence[Benchmark]) -> Row:
    return Row(
        rank=ranked.rank,
        team=ranked.entry.team,
        submission=submission,
        score=ranked.score,
        interval95=ranked.interval95,
        runs=[run_score(ranked.entry, place, each) for place, each in enumerate(benchmarks)],
    )


def run_score(entry: Entry, place: int, benchmark: Benchmark) -> RunScore:
    """What an entry came to on the benchmark at a place."""
    score, interval = entry.score(place, benchmark)
    result = entry.results.get(place)
    counts = result.status_counts if result else {}
    return RunScore(
        score=score,
        interval95=interval,
        faults={status: count for status, count in counts.items() if status != "ok" and count},
    )

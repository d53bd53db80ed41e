"""Returns of a frozen agent over episodes whose seeds are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reglue.errors import UsageError
from reglue_bench.measures.compare import same_plan
from reglue_bench.measures.returns import RETURN, Returns, paired_on_one_plan, read_returns
from reglue_bench.measures.success import evaluated
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Pairs, Result, Units


@dataclass(frozen=True, slots=True)
class _Seeded:
    """The returns of a run, by seed; where a secret keys seeds, by the repeat."""

    returns: Returns
    is_keyed: bool


def _read(result: Result) -> _Seeded:
    seeds = {row.seed for row in evaluated(result)}

    def number(row: EpisodeRow) -> int:
        return row.repeat if row.seed is None else row.seed

    return _Seeded(read_returns(result, number), None in seeds)


def _pair(run: Units, reference: Units) -> Pairs:
    both = [run.result, reference.result]
    if len({each.goals_sha256 for each in both}) > 1:
        raise UsageError("the runs played other environments and cannot be compared")
    ours, theirs = run.scores.returns, reference.scores.returns
    if same_plan(both):
        units = [replace(each, scores=each.scores.returns) for each in (run, reference)]
        return paired_on_one_plan(*units)
    if run.scores.is_keyed or reference.scores.is_keyed:
        raise UsageError("seeds that a secret keys are compared on one plan")
    if any("missing" in each.status_counts for each in both):
        raise UsageError("runs of different plans are compared once all of both is played")
    pairs = {}
    for task in run.result.coverage.episodes_planned:
        shared = sorted(ours.by_task[task].keys() & theirs.by_task.get(task, {}).keys())
        if not shared:
            raise UsageError(f"the runs have no seed of {task} in common and cannot be compared")
        pairs[task] = (ours.values(task, shared, {}), theirs.values(task, shared, {}))
    return pairs


SEEDED_RETURN = replace(
    RETURN,
    shown_by="reglue_bench.renderers.seeded_returns_renderer:SEEDED_RETURN",
    read=_read,
    pair=_pair,
)

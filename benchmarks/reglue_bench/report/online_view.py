"""What the page says about runs of agents that learn."""

from __future__ import annotations

from reglue_bench.report.figures import NEUTRAL, SUCCESS
from reglue_bench.report.learning_plots import learning_plots
from reglue_bench.report.run_view import (
    SHADES,
    clipped_actions,
    ending_and_baseline,
    parameters,
    score_and_interval,
    what_it_took,
    who_and_what,
)
from reglue_bench.report.tracks import value_tracks
from reglue_bench.report.views import Run, Share
from reglue_bench.report.words import (
    STATUSES,
    count,
    plural,
    sentence,
    value,
)
from reglue_bench.results.result import OnlineScore, Result
from reglue_bench.terminal.learning_summary import (
    how_fresh,
    scored_as_worst,
    what_is_measured,
    why_withheld,
)


def online_view(name: str, result: Result, *, run_id: str) -> Run:
    """Everything the page says about an online result."""
    online = result.online
    assert online is not None
    score, interval = score_and_interval(result)
    runs = plural(len(online.runs), "run")
    return Run(
        id=run_id,
        name=name,
        score=score or "no score",
        meaning=f"{what_is_measured(online)}, mean over {runs}",
        interval=interval,
        track=value_tracks([online])[0],
        notes=_notes(result, online),
        facts=[*who_and_what(result), *_facts(result, online), *parameters(result)],
        planned="Planned runs",
        statuses=_statuses(result),
        plots=learning_plots(online, prefix=run_id),
        **what_it_took(result),
    )


def _notes(result: Result, online: OnlineScore) -> list[str]:
    notes = [sentence(words) for words in (*scored_as_worst(online), *why_withheld(online))]
    if online.completed_only is not None and len(online.completed) < len(online.runs):
        notes.append(
            f"The {plural(len(online.completed), 'completed run')} alone: "
            f"{value(online.completed_only)}, in which what was not played to its end is left out; "
            "if runs that go badly end early more often, that is too good."
        )
    return [*notes, *ending_and_baseline(result)]


def _facts(result: Result, online: OnlineScore) -> list[tuple[str, str]]:
    return [
        (
            "runs",
            f"{count(len(online.completed))} of {count(len(online.runs))} completed, "
            f"{count(online.quota)} {online.counted_in} each",
        ),
        ("a naive agent", how_fresh(online)),
        clipped_actions(result),
    ]


def _statuses(result: Result) -> list[Share]:
    total = max(1, sum(result.status_counts.values()))
    shades = SHADES | {"ok": SUCCESS}
    words = STATUSES | {"ok": "played to their end"}
    return [
        Share(words.get(status, status), count(n), n / total, shades.get(status, NEUTRAL))
        for status, n in sorted(result.status_counts.items(), key=lambda each: each[0] != "ok")
    ]

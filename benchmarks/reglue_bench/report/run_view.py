"""What the page says about one run, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reglue_bench.report.figures import FAILURE, SUCCESS
from reglue_bench.report.learning_plots import learning_plots
from reglue_bench.report.plots import run_plots
from reglue_bench.report.tracks import rate_track, value_tracks
from reglue_bench.report.views import Run, Share, Track
from reglue_bench.report.words import (
    PROCEDURES,
    STATUSES,
    count,
    percent,
    percents,
    plural,
    seconds,
    sentence,
    value,
    values,
)
from reglue_bench.results.result import OnlineScore, Result
from reglue_bench.terminal.summary import (
    ended,
    how_fresh,
    scored_as_worst,
    success_never_told,
    what_is_measured,
    why_withheld,
)
from reglue_bench.terminal.words import isolation_words

SHADES = {
    "success": SUCCESS,
    "failure": FAILURE,
    "played": SUCCESS,
    "agent_error": "#d4526e",
    "agent_timeout": "#b064c8",
    "agent_disconnected": "#7a5cc8",
    "agent_abandoned": "#c9a227",
    "environment_error": "#6c5a4e",
    "missing": "rgba(140,145,155,0.4)",
}


def run_view(name: str, result: Result, *, run_id: str) -> Run:
    """Everything the page says about a run."""
    score, interval = score_and_interval(result)
    online = result.online
    notes = _notes(result) if online is None else _learning_notes(online)
    return Run(
        id=run_id,
        name=name,
        score=score or "no score",
        meaning=_meaning(result),
        interval=interval,
        track=_track(result),
        notes=[*notes, *_ending_and_baseline(result)],
        facts=[*_who_and_what(result), *_facts(result), *_parameters(result)],
        planned="Planned episodes" if online is None else "Planned runs",
        statuses=_statuses(result),
        plots=(
            run_plots(result, prefix=run_id)
            if online is None
            else learning_plots(online, prefix=run_id)
        ),
        **_what_it_took(result),
    )


def score_and_interval(result: Result) -> tuple[str, str]:
    """Its score and the score's interval, in words; empty without a score."""
    score, interval = result.score
    one, two = (percent, percents) if result.judged_by == "success" else (value, values)
    return "" if score is None else one(score), "" if interval is None else two(interval)


def success_track(result: Result, *, ends: Sequence[str] = ()) -> Track | None:
    """Its success on a line; None where it is judged by returns."""
    if result.is_by_return:
        return None
    success = result.success
    return rate_track(success.rate, success.interval95, ends=ends)


def _meaning(result: Result) -> str:
    if result.online is not None:
        runs = plural(len(result.online.runs), "run")
        return f"{what_is_measured(result.online)}, mean over {runs}"
    return "mean return" if result.is_by_return else "success"


def _track(result: Result) -> Track | None:
    if result.online is not None:
        return value_tracks([result.online])[0]
    return success_track(result, ends=("0 %", "50 %", "100 %"))


def _what_it_took(result: Result) -> dict[str, Any]:
    """Badges, time, steps and versions: the fields of a Run that are those of any procedure."""
    counted, executed = result.steps.counted, result.steps.executed
    return {
        "badges": _badges(result),
        "time": _time(result),
        "wall": seconds(result.seconds.wall),
        "steps": f"{count(counted)} of {count(executed)} simulated steps count",
        "steps_share": counted / executed if executed else 0.0,
        "versions": ", ".join(f"{each} {v}" for each, v in sorted(result.versions.items())),
    }


def _who_and_what(result: Result) -> list[tuple[str, str]]:
    """The agent, the benchmark and the plan, named."""
    agent = result.agent
    facts = [
        ("agent", agent.label if agent.label == agent.name else f"{agent.label} ({agent.name})"),
        ("training seed", "" if agent.training_seed is None else str(agent.training_seed)),
        ("checkpoint", (agent.checkpoint_sha256 or "")[:12]),
        ("isolation", isolation_words(agent.isolation)),
        ("benchmark", result.benchmark),
        ("environment that dialled in", str(result.parameters.get("environment", ""))),
        ("procedure", PROCEDURES.get(result.procedure, result.procedure)),
        ("seed", str(result.seed)),
        ("slots", str(result.slots)),
        ("plan", result.plan_sha256[:12]),
    ]
    return [(name, value) for name, value in facts if value]


def _parameters(result: Result) -> list[tuple[str, str]]:
    """All of them, in one line."""
    named = [f"{name} = {value}" for name, value in sorted(result.parameters.items())]
    return [("parameters", ", ".join(named))] if named else []


def _badges(result: Result) -> list[tuple[str, str]]:
    words = [] if result.complete else ["partial"]
    words += [plural(_faults(result), "fault")] if _faults(result) else []
    badges = [("warn", ", ".join(words))] if words else [("good", "complete")]
    if result.baseline:
        badges.append(("info", "baseline"))
    return badges


def _notes(result: Result) -> list[str]:
    notes = []
    if result.upstream is not None:
        notes.append(
            f"metaworld.evaluation counts {percent(result.upstream.mean_success_rate)} in these "
            "episodes: of each task the first to finish, so that fast successes crowd out slow "
            "failures."
        )
    notes += [sentence(words) for words in success_never_told(result)]
    missing = result.status_counts.get("missing", 0)
    if result.is_by_return:
        notes.append("Judged by its mean return: this environment does not tell of success.")
        if set(result.status_counts) != {"ok"}:
            notes.append("Episodes that were not played to their end count as the worst return.")
    elif missing or not result.complete:
        notes.append(
            f"This run is partial: {plural(missing, 'planned episode')} not played, and counted "
            f"as failures. Of the completed episodes alone, success is "
            f"{percent(result.success.completed_only.mean_success_rate)}."
        )
    elif _faults(result):
        notes.append(
            f"{plural(_faults(result), 'episode')} ended in a fault and count as failures. Of "
            f"the completed episodes alone, success is "
            f"{percent(result.success.completed_only.mean_success_rate)}."
        )
    return notes


def _ending_and_baseline(result: Result) -> list[str]:
    """What a reader of any score has to know."""
    notes = []
    if result.ended_early is not None:
        notes.append(f"It ended early, {ended(result.ended_early).splitlines()[0]}")
    elif not result.complete:
        notes.append("So far: the run goes on, or was killed and can be resumed.")
    if 2 * result.clipped_steps > result.steps.counted:
        notes.append(
            f"In {count(result.clipped_steps)} of {plural(result.steps.counted, 'step')} the "
            "action lay out of bounds and was clipped: the agent may have another scale in mind."
        )
    if result.baseline:
        notes.append(
            "A baseline, not to be ranked: this run was told what the benchmark hides "
            f"({', '.join(result.baseline)})."
        )
    return notes


def _learning_notes(online: OnlineScore) -> list[str]:
    notes = [sentence(words) for words in (*scored_as_worst(online), *why_withheld(online))]
    if online.completed_only is not None and len(online.completed) < len(online.runs):
        notes.append(
            f"The {plural(len(online.completed), 'completed run')} alone: "
            f"{value(online.completed_only)}, in which what was not played to its end is left out; "
            "if runs that go badly end early more often, that is too good."
        )
    return notes


def _facts(result: Result) -> list[tuple[str, str]]:
    """How much was played."""
    coverage, online = result.coverage, result.online
    done = f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)} completed"
    if online is None:
        goals = f"{count(coverage.goals_planned)} of the benchmark's {coverage.goals_total:,}"
        return [("episodes", done), ("goals", goals), _clipped_actions(result)]
    return [
        ("runs", f"{done}, {count(online.quota)} {online.counted_in} each"),
        ("a naive agent", how_fresh(online)),
        _clipped_actions(result),
    ]


def _clipped_actions(result: Result) -> tuple[str, str]:
    """In how many of the steps an action lay out of bounds."""
    steps = result.steps.counted
    share = f" ({percent(result.clipped_steps / steps)})" if steps else ""
    return "clipped actions", f"in {count(result.clipped_steps)} of {plural(steps, 'step')}{share}"


def _statuses(result: Result) -> list[Share]:
    """Evaluation episodes, or runs, by outcome; completed episodes by success."""
    won = result.coverage.cells_succeeded
    counts = {"success": won, "failure": result.status_counts.get("ok", 0) - won}
    if result.judged_by != "success":
        counts = {"played": result.status_counts.get("ok", 0)}
    counts.update({name: n for name, n in result.status_counts.items() if name != "ok"})
    total = max(1, sum(counts.values()))
    return [
        Share(STATUSES.get(name, name), count(counts[name]), counts[name] / total, shade)
        for name, shade in SHADES.items()
        if counts.get(name)
    ]


def _time(result: Result) -> list[Share]:
    spent = result.seconds
    parts = (
        ("the agent", spent.agent, "#3f7fdc"),
        ("environments", spent.environment, "#2a9d8f"),
        ("the glue", spent.glue, "#c9a227"),
    )
    total = sum(duration for _, duration, _ in parts) or 1.0
    return [
        Share(name, seconds(duration), duration / total, shade) for name, duration, shade in parts
    ]


def _faults(result: Result) -> int:
    return sum(n for name, n in result.status_counts.items() if name not in ("ok", "missing"))

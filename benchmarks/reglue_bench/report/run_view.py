"""What the page says about one run."""

from __future__ import annotations

from collections.abc import Sequence

from reglue_bench.formatting import (
    STATUSES,
    count,
    isolation_text,
    percent,
    plural,
    seconds,
    sentence,
)
from reglue_bench.plots.figures import FAILURE, SUCCESS
from reglue_bench.plots.training_plots import training_plots
from reglue_bench.plots.views import Frame, Run, Share
from reglue_bench.procedures import PROCEDURES
from reglue_bench.renderers import renderer_of
from reglue_bench.results.result import Result
from reglue_bench.terminal.summary import events

SHADES = {
    "success": SUCCESS,
    "failure": FAILURE,
    "played": SUCCESS,
    "agent_error": "#d4526e",
    "agent_timeout": "#b064c8",
    "agent_disconnected": "#7a5cc8",
    "agent_abandoned": "#c9a227",
    "crashed": "#e07b39",
    "environment_error": "#6c5a4e",
    "environment_lost": "#8a8079",
    "missing": "rgba(140,145,155,0.4)",
}


def run_view(name: str, result: Result, *, run_id: str, frames: Sequence[Frame] = ()) -> Run:
    """Everything the page says about a run."""
    score, interval = score_and_interval(result)
    renderer, counted, executed = renderer_of(result), result.steps.counted, result.steps.executed
    return Run(
        id=run_id,
        name=name,
        score=score or "no score",
        meaning=renderer.meaning(result),
        interval=interval,
        track=renderer.tracks([result], [0])[0],
        badges=_badges(result),
        notes=[*map(sentence, renderer.notes(result)), *_notes(result)],
        facts=[
            *_who_and_what(result),
            *renderer.facts(result),
            *_training(result),
            *_clipped_and_parameters(result),
        ],
        planned=f"Planned {result.measure.planned}",
        statuses=_statuses(result),
        time=_time(result),
        wall=seconds(result.seconds.wall),
        steps=f"{count(counted)} of {count(executed)} simulated steps count",
        steps_share=counted / executed if executed else 0.0,
        versions=", ".join(f"{each} {v}" for each, v in sorted(result.versions.items())),
        plots=[*renderer.plots(result, run_id), *training_plots([("", result)], prefix=run_id)],
        frames=frames,
    )


def score_and_interval(result: Result) -> tuple[str, str]:
    """A run's score and its interval as texts; empty without a score."""
    score, measure = result.score, result.measure
    amounts = "" if score.interval95 is None else measure.amounts(score.interval95)
    return "" if score.value is None else measure.amount(score.value), amounts


def _who_and_what(result: Result) -> list[tuple[str, str]]:
    """The agent, the benchmark and the plan, named."""
    agent = result.agent
    facts = [
        ("agent", agent.label if agent.label == agent.name else f"{agent.label} ({agent.name})"),
        ("training seed", "" if agent.training_seed is None else str(agent.training_seed)),
        ("checkpoint", (agent.checkpoint_sha256 or "")[:12]),
        ("isolation", isolation_text(agent.isolation)),
        ("benchmark", result.title),
        ("environment not made here", str(result.parameters.get("environment", ""))),
        ("procedure", f"{result.procedure}: {PROCEDURES[result.procedure].about}"),
        ("seed", str(result.seed)),
        ("slots", str(result.slots)),
        ("plan", result.plan_sha256[:12]),
        ("repeatable", _repeatable(result)),
        ("played on", "; ".join(result.machines)),
        ("environments on", "; ".join(result.environments_on)),
        ("environments in", "; ".join(result.environments_in)),
    ]
    return [(name, value) for name, value in facts if value]


def _repeatable(result: Result) -> str:
    answers = {True: "yes", False: "no", None: "not known"}
    lines = [
        f"{each.who} {answers[each.repeatable]}" + f" ({each.what})" * bool(each.repeatable)
        for each in result.repeats
    ]
    return "; ".join(lines) or "not checked"


def _training(result: Result) -> list[tuple[str, str]]:
    """A text that says how long the agent trained before the evaluation."""
    trained = result.training
    if trained is None:
        return []
    abandoned = trained.episodes_abandoned
    free = f", of which it abandoned {count(abandoned)}" if abandoned else ""
    steps = f"{count(trained.steps_taken)} of {plural(trained.steps, 'step')}"
    return [("trained for", f"{steps}, {plural(trained.episodes, 'episode')}{free}")]


def _clipped_and_parameters(result: Result) -> list[tuple[str, str]]:
    steps = result.steps.counted
    share = f" ({percent(result.clipped_steps / steps)})" if steps else ""
    clipped = f"in {count(result.clipped_steps)} of {plural(steps, 'step')}{share}"
    parameters = ", ".join(f"{name} = {value}" for name, value in sorted(result.parameters.items()))
    return [("clipped actions", clipped), *([("parameters", parameters)] if parameters else [])]


def _badges(result: Result) -> list[tuple[str, str]]:
    problems = [] if result.complete else ["partial"]
    problems += [plural(_faults(result), "fault")] if _faults(result) else []
    badges = [("warn", ", ".join(problems))] if problems else [("good", "complete")]
    if result.privileged:
        badges.append(("info", "privileged"))
    return badges


def _notes(result: Result) -> list[str]:
    """Notes on any score."""
    notes = []
    if result.ended_early is not None:
        notes.append(f"It ended early, {str(result.ended_early).splitlines()[0]}")
    elif "missing" in result.status_counts:
        notes.append("So far: the run goes on, or was killed and can be resumed.")
    if 2 * result.clipped_steps > result.steps.counted:
        notes.append(
            f"In {count(result.clipped_steps)} of {plural(result.steps.counted, 'step')} the "
            "action was out of bounds and was clipped: the agent may use another scale."
        )
    if result.defaulted_steps:
        notes.append(
            f"In {count(result.defaulted_steps)} of {plural(result.steps.counted, 'step')} the "
            "agent was late and a default action was played."
        )
    if result.episodes_retried:
        notes.append(
            f"{plural(result.episodes_retried, 'episode')} of a second or later try: the run was "
            "killed or interrupted in mid-episode, or faults were played again."
        )
    notes += [sentence(line) for line in [*result.caveats, *events(result)]]
    if result.privileged:
        notes.append(
            "Privileged, and not ranked: the agent was told what the benchmark hides "
            f"({', '.join(result.privileged)})."
        )
    return notes


def _statuses(result: Result) -> list[Share]:
    """What was planned, by how it ended."""
    lost = {name: n for name, n in result.status_counts.items() if name != "ok"}
    counts = {**renderer_of(result).counts(result), **lost}
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

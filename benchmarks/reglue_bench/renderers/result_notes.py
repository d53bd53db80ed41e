"""The notes on a result, for the page and the terminal alike."""

from __future__ import annotations

from collections.abc import Iterator

from reglue.errors import AgentTimeout
from reglue_bench.formatting import percent, plural
from reglue_bench.renderers import renderer_of
from reglue_bench.results.result import Result

_MOST_FAULTS = 5  # of which the error is shown

_LIMITS = (
    "--step-timeout, --first-step-timeout, --bank, --adapt-budget and --run-budget set how long "
    "the agent may take"
)


def notes(result: Result) -> Iterator[str]:
    """Caveats of the score, then faults and events, and last how the run ended.

    Each is one sentence without a capital and a full stop. A traceback may follow it.
    """
    yield from renderer_of(result).notes(result)
    if result.privileged:
        hidden = " and the ".join(result.privileged)
        yield (
            f"privileged, and not ranked: the agent was told the {hidden}, which the benchmark "
            "hides"
        )
    steps = result.steps.counted
    if 2 * result.clipped_steps > steps:
        yield (
            f"{percent(result.clipped_steps / steps)} of the actions were out of bounds and were "
            "clipped: the agent may use another scale"
        )
    if late := result.defaulted_steps:
        yield f"{late:,} of {steps:,} actions came too late, and defaults were played"
    yield from map(str, result.faults[:_MOST_FAULTS])
    if retried := result.episodes_retried:
        yield (
            f"{plural(retried, 'episode')} of a second or later try: the run was killed or "
            "interrupted in mid-episode, or faults were played again"
        )
    yield from result.caveats
    yield from (f"{each.count} × {each.what}" for each in result.events)
    if result.recorded is not None and result.recorded.lost:
        lost = plural(result.recorded.lost, "episode")
        yield f"{lost} missing from the dataset, which holds {result.recorded.episodes:,}"
    if result.ended_early is not None:
        yield f"ended early, {result.ended_early}"
        if result.ended_early.status == AgentTimeout.status:
            yield _LIMITS
    elif "missing" in result.status_counts:
        yield "so far: the run goes on, or was killed and can be resumed"

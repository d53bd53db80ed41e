"""Texts for dates, statuses, scores and time limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from reglue_bench.formatting import STATUSES, count, percent, percents, value, values
from reglue_bench.results.result import Measure
from reglue_bench.statistics import Interval
from reglue_competition.definition import AgentsFrom, Choose, ImageLimits, PlayLimits

MEANINGS = {
    "waiting": "It is in the queue. It starts or goes on when its agent is connected and a place "
    "is free.",
    "playing": "It plays the benchmarks of its phase, one after another.",
    "finished": "It has played all that was planned.",
    "failed": "Its agent failed. What it did not play counts as failure.",
    "broken": "An environment or this server failed. It is not scored and counts against no "
    "quota; the organiser can play it again. After three, a team needs the organiser's word.",
    "cancelled": "The organiser cancelled it. It is not scored.",
    "withdrawn": "The team left before it began, its agent did not come within 48 h of the end of "
    "its phase, or its agent failed in the rehearsal. It is not scored and counts against no "
    "quota, but a team may withdraw only 20 a day.",
}

_OURS = "; while this server is away no time counts, and the submission waits for its agent"


def minute(at: datetime | None) -> str:
    """`2026-11-23 14:05 UTC`; empty for no date."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""


def second(at: datetime) -> str:
    """`2026-11-23 14:05:09`, of UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def amount(score: float | None, measure: Measure | None) -> str:
    """A score; `–` without one."""
    if score is None:
        return "–"
    return percent(score) if measure is None else measure.amount(score)


def amounts(interval: Interval | None, measure: Measure | None) -> str:
    """An interval; empty without one."""
    if interval is None:
        return ""
    return percents(interval) if measure is None else measure.amounts(interval)


def total(score: float | None, *, is_rate: bool) -> str:
    """A weighted mean over benchmarks; a rate in percent."""
    if score is None:
        return "–"
    return percent(score) if is_rate else value(score)


def totals(interval: Interval | None, *, is_rate: bool) -> str:
    """The interval of such a mean; empty without one."""
    if interval is None:
        return ""
    return percents(interval) if is_rate else values(interval)


def fault(status: str) -> str:
    """The words for an episode's status."""
    return STATUSES.get(status, status)


def faults(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """The words for each status, with its count."""
    return [(fault(status), count(n)) for status, n in counts.items()]


def tries(episodes: int) -> list[tuple[str, str]]:
    """Episodes of a second or later try, if there are any."""
    what = "played again, as the server was stopped while they were played"
    return [(what, count(episodes))] if episodes else []


def limits(play: PlayLimits) -> Sequence[tuple[str, str, str]]:
    """Each limit, its value, and the consequence of reaching it."""
    late = (
        "the environment gets a default action for that turn, and play goes on"
        if play.late == "default action"
        else "the agent has failed: what it did not play counts as failure"
    )
    failed = "the agent has failed: what it did not play counts as failure"
    rows = [
        ("a turn", _duration(play.step_s), "time beyond it is taken from the bank"),
        ("the bank, in each run", _duration(play.bank_s), f"once it is empty, {late}"),
        ("init and the first turn", _duration(play.first_step_s), failed),
        ("a lost connection", _duration(play.reconnect_window_s), f"{failed}{_OURS}"),
        ("starting when its turn comes", _duration(play.connect_timeout_s), failed),
    ]
    if play.round_every_s is not None:
        every = _duration(play.round_every_s)
        rows.insert(0, ("rounds", f"every {every}", "what was entered before one plays in it"))
    run = "by its episodes" if play.run_s is None else _duration(play.run_s)
    rows.insert(2, ("a run, in all", run, failed))
    if play.turn_grid_s is not None:
        rows.append(("answers", f"every {play.turn_grid_s:g} s", "so that timing reveals nothing"))
    return rows


AGENTS: Mapping[AgentsFrom, str] = {
    "remote": "its team does: it connects",
    "submitted": "the organiser does: its team hands it in",
    "both": "its team does, or the organiser, if its team hands it in",
}
"""The party that runs an agent, by its phase's setting."""


COUNTS: Mapping[Choose, str] = {
    "best": "Of each team the best submission that was scored is in the leaderboard.",
    "last": "Of each team the last submission that was scored is in the leaderboard.",
    "team": "Of each team the submission that it has chosen on that one's page is in the "
    "leaderboard; until it chooses, its last that was scored.",
}
"""The choice of a team's submission that counts, by the file's `ranking.choose`."""

FROZEN_OUT = (
    "It ended after the leaderboard was frozen: its score is shown when this phase is closed and "
    "played."
)


def freeze(at: datetime, now: datetime) -> str:
    """Since when, or from when on, a leaderboard stays as it is until its phase is played."""
    verb = "has been frozen since" if now >= at else "will be frozen at"
    return (
        f"This leaderboard {verb} {minute(at)}: scores after that are shown when the phase is "
        "closed and played, and a team sees its own before."
    )


def container_limits(images: ImageLimits) -> Sequence[tuple[str, str]]:
    """Limits of the container of an image."""
    return [
        ("memory", f"{images.memory_gib:g} GiB, with what is written to /tmp"),
        ("/tmp", f"{images.tmp_gib:g} GiB"),
        ("graphics cards", images.gpus or "none"),
        ("processors", f"{images.processors:g}"),
        ("processes", count(images.processes)),
        ("network", "none, but the way to play"),
        ("the image or project, unpacked", f"{images.image_gib:g} GiB"),
    ]


def used(processor_s: float, memory_bytes: int, *, is_coarse: bool) -> str:
    """The processor time of containers, and their peak memory.

    Coarse: up to the next power of two, which tells little of what an agent has observed.
    """
    mib = memory_bytes / 2**20
    if is_coarse:
        return f"up to {_above(processor_s):,} s of a processor and {_above(mib):,} MiB of memory"
    return f"{processor_s:,.1f} s of a processor and {mib:,.0f} MiB of memory"


_STATUS = re.compile("|".join(each for each in STATUSES if each.startswith("agent_")))


def without_words(detail: str) -> str:
    """The agent's failure without words of its own: they may tell what it observed."""
    if (status := _STATUS.search(detail)) is None:
        return detail
    return f"{detail[: status.end()]}; its words are for the organiser until the plan is published"


def _above(number: float) -> int:
    return int(2 ** math.ceil(math.log2(max(1.0, number))))


def _duration(seconds: float) -> str:
    hours, rest = divmod(seconds, 3600)
    if hours and not rest:
        return f"{hours:g} h"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:g} min" if minutes and not rest else f"{seconds:g} s"

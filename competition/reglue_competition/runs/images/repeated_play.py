"""Plays an image's submission once more, to see whether its transcript comes out the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from glue_server.processes.child import end_together
from reglue.errors import ReglueError, UsageError
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.submission import (
    Ended,
    News,
    Progress,
    SubmissionProcess,
    transcript_file,
)
from reglue_competition.store import Submission
from reglue_competition.transcript.contents import Episode
from reglue_competition.transcript.transcript_reader import Transcript

_LOOK_S = 0.1  # at its progress
_LEAVE_S = 10.0

Watch = Callable[[int, int], None]
"""Called with the number of episodes or steps that were played, and of all in that benchmark."""


def play_again(hosted: Hosted, submission: Submission, folder: Path, watch: Watch) -> None:
    """Play a submission's cells with a new container of its image, into `folder`.

    Agents get the seeds that they got before, so one that depends on nothing else does the same.
    Raises ReglueError if it does not play to its end.
    """
    here = hosted.settings_of(submission)
    if here.image is None:
        raise UsageError(f"submission {submission.id} has no image: its agent connects by itself")
    if not Path(here.image.archive).is_file():
        raise UsageError(f"its image is not here any more: {here.image.archive}")
    there = replace(here, folder=str(folder / "runs"), transcripts=str(folder))
    came = threading.Event()
    process = SubmissionProcess(there, hosted.secrets.sign, on_news=came.set)
    try:
        ended = _heard(process, came, watch)
        process.let_go("this was a repetition, thank you")
    finally:
        process.leave()
        end_together([process], within_s=_LEAVE_S)
    if ended.status not in ("finished", "failed"):
        raise ReglueError(f"the repetition is {ended.status}: {ended.detail}")


def difference(submission: Submission, one: Path, other: Path, benchmarks: int) -> str:
    """The first difference of two folders of a submission's transcripts, in words; empty if none.

    Of each episode the plan's cell, actions, rewards, return and status count; what depends on
    when and where it was played does not. Raises UsageError if a transcript cannot be read.
    """
    for index in range(benchmarks):
        with ExitStack() as closing:
            first, again = (
                closing.enter_context(Transcript(transcript_file(folder, submission.id, index)))
                for folder in (one, other)
            )
            if len(first) != len(again):
                return f"benchmark {index + 1}: {len(first)} episodes, then {len(again)}"
            for number, pair in enumerate(zip(first, again, strict=True)):
                if what := _differs(*pair):
                    task = pair[0].facts.cell.task
                    return f"benchmark {index + 1}: episode {number + 1} ({task}): {what}"
    return ""


def _heard(process: SubmissionProcess, came: threading.Event, watch: Watch) -> Ended:
    """Wait until it has ended; `came` is set for news, but for progress. Raises ReglueError if it
    dies.
    """
    while True:
        is_silent = process.is_silent()
        for news in process.news():
            if (ended := _taken(news, watch)) is not None:
                return ended
        if is_silent:
            raise ReglueError("the process that played it died")
        came.wait(_LOOK_S)
        came.clear()


def _taken(news: News, watch: Watch) -> Ended | None:
    match news:
        case Progress():
            watch(news.done, news.total)
        case Exception():
            raise news
        case Ended():
            return news
    return None


def _differs(one: Episode, other: Episode) -> str:
    """The first difference, in words; empty if there is none."""
    if one.actions != other.actions:
        return "its actions differ"
    before, now = one.facts, other.facts
    for name in ("cell", "status", "success", "steps", "return_", "clipped"):
        if (was := getattr(before, name)) != (is_now := getattr(now, name)):
            return f"{name.strip('_')} was {was}, and is {is_now}"
    if _reward_bytes(one) != _reward_bytes(other):
        return "its rewards differ"
    return ""


def _reward_bytes(episode: Episode) -> bytes:
    return b"" if episode.rewards is None else episode.rewards.tobytes()

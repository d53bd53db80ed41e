"""The states of a submission that the queue has in hand. Times are monotonic seconds."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from reglue_competition.runs.submission import News, Progress, SubmissionProcess
from reglue_competition.store import Submission


@dataclass(slots=True)
class Playing:
    """A submission that has a process."""

    submission: Submission
    process: SubmissionProcess
    is_alone: bool  # without its agent
    news: deque[News] = field(default_factory=deque)  # that is not taken down yet
    failures: int = 0  # of ours, one after another, over it
    is_silent: bool = False  # its process has ended, and all that it said is in `news`
    done: dict[int, int] = field(default_factory=dict)  # by benchmark, as last reported
    progress: Progress | None = None  # that is not stored yet
    stored_at: float = 0.0
    cancelled_at: float | None = None


@dataclass(slots=True)
class Leaving:
    """A submission whose process lets its agent go."""

    process: SubmissionProcess
    farewell: str = ""  # none if it goes on
    has_failed: bool = False  # the gateway tells it, and not its process: it is an error
    not_before: float = 0.0  # the next try begins then; 0: it is not tried again
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Paused:
    """A submission of which a try has failed."""

    not_before: float  # when the next one begins


States: TypeAlias = dict[str, Playing | Leaving | Paused]
"""By submission; one that waits for its agent or its turn has none."""

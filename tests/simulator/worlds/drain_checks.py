"""A server that is told to end lets nothing begin, and what plays go on for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.simulator.scheduler import Violation
from tests.simulator.worlds.competition_model import Event

_HEARD_S = 1.6  # a look at the queue, and a call that was under way
_CLOSES_S = 8.0  # the time that submissions' processes have to leave, and what is around it


@dataclass(frozen=True)
class Drain:
    """The end of a server by SIGTERM, which nothing else disturbed."""

    first: int  # the last event before its server began
    at: datetime  # of the signal
    last: int  # the last event when its server had ended
    timeout_s: float  # for which submissions might go on
    took_s: float


def check_drain(drain: Drain, events: Sequence[Event]) -> None:
    """Raise Violation if something began, or what played was not given its time."""
    own = [each for each in events if drain.first < each.id <= drain.last]
    heard = drain.at + timedelta(seconds=_HEARD_S)
    for each in own:
        if each.at > heard and each.kind in ("submission entered", "submission playing"):
            raise Violation(f"after SIGTERM at {drain.at}: {each}")
    newest = {each.submission: each.kind for each in own if each.kind.startswith("submission ")}
    plays = "submission playing" in newest.values()
    if plays and drain.took_s < drain.timeout_s:
        raise Violation(f"a submission played, and got no time to end: {drain}")
    if drain.took_s > drain.timeout_s + _CLOSES_S:
        raise Violation(f"its server took long to end: {drain}")

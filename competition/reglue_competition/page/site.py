"""The page's data: a snapshot of the store, renewed in the background.

Public pages are made from the snapshot, so their number does not load the database.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from reglue.errors import StoreFailed
from reglue_competition.definition import Definition, Track
from reglue_competition.ranking import Comparisons, Leaderboard, leaderboard
from reglue_competition.store import (
    SCORED,
    UNFINISHED,
    Event,
    News,
    Phase,
    Ruling,
    Run,
    Store,
    Submission,
    default_phase,
)

log = logging.getLogger("reglue")

COMPARISONS = "comparisons"
"""The folder of finished comparisons of teams, by `board_name`: it may be deleted at any time."""

_LEAVE_S = 5.0  # for a leaderboard that is being made
_EVENTS_SHOWN = 200
_RUNS_KEPT = 300  # submissions'

_Scored = frozenset[object]  # the freeze, submissions, how they ended, what was ruled and chosen


def board_name(phase: str, track: Track | None = None) -> str:
    """The name of a phase's leaderboard, or of its track's; no name of these has a dot."""
    return phase if track is None else f"{phase}.{track.name}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A competition at one moment."""

    definition: Definition
    phases: Sequence[Phase] = ()
    submissions: Mapping[str, Submission] = field(default_factory=lambda: MappingProxyType({}))
    rulings: Mapping[str, Ruling] = field(default_factory=lambda: MappingProxyType({}))
    voids: Mapping[str, Mapping[int, str]] = field(default_factory=lambda: MappingProxyType({}))
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    boards: Mapping[str, Leaderboard] = field(default_factory=lambda: MappingProxyType({}))
    """By `board_name`."""
    events: Sequence[Event] = ()  # the newest first, as all here
    news: Sequence[News] = ()
    at: datetime = field(default_factory=lambda: datetime.now(UTC))  # when the store last answered
    ranked: int = 0  # how often leaderboards were made
    is_away: bool = False  # the store does not answer: all of this is the last state

    @property
    def version(self) -> str:
        """Changes with everything but the progress of submissions."""
        last = self.events[0].id if self.events else 0
        return f"{last}-{self.ranked}-{int(self.is_away)}"

    @property
    def current_phase(self) -> Phase | None:
        """The open phase (of practice only if no other is open), else the last that was open, else
        the first one.
        """
        begun = [phase for phase in self.phases if phase.state != "planned"]
        still_open = default_phase(phase for phase in begun if phase.state == "open")
        return still_open or next(iter([*begun[::-1], *self.phases]), None)

    def phase(self, name: str) -> Phase | None:
        """The phase of that name."""
        return next((phase for phase in self.phases if phase.name == name), None)

    def is_over(self, name: str) -> bool:
        """Whether a phase is closed, and none of its submissions may still play.

        Its games stay hidden until then: somebody could tell an agent that plays.
        """
        phase = self.phase(name)
        is_closed = phase is not None and phase.state == "closed"
        return is_closed and not self.of_phase(name, *UNFINISHED)

    def withheld(self, name: str, revealed: Collection[str]) -> str:
        """The reason why only the organiser sees a phase's scores yet; empty: everybody sees them.

        `revealed` are the phases whose plans were published.
        """
        match self.definition.board_of(name):
            case "after_close" if not self.is_over(name):
                return "Scores are shown when this phase is closed and played."
            case "organiser" if name not in revealed:
                return "Scores are shown when the organiser has published what this phase played."
            case _:
                return ""

    def freezes_at(self, name: str) -> datetime | None:
        """From when on a phase's leaderboard stays as it is, until the phase is played.

        None: it does not, or it is played.
        """
        return None if self.is_over(name) else self.definition.phase(name).freeze_at

    def is_frozen_out(self, submission: Submission) -> bool:
        """Whether a score came after its leaderboard was frozen, and is not shown to others yet."""
        frozen = self.freezes_at(submission.phase)
        if frozen is None or submission.ended_at is None:
            return False
        return not submission.ended_before(frozen)

    def of_phase(self, name: str, *statuses: str) -> list[Submission]:
        """A phase's submissions with these statuses, in the order in which they were entered."""
        of = self.submissions.values()
        return [each for each in of if each.phase == name and each.status in statuses]


class Site:
    """A competition's folder and store, as the page reads them.

    `look` reads what changed; `rank` makes leaderboards anew where a submission has ended.
    Between `start` and `close` a thread of its own does each every `renew_s` seconds: the first
    leaderboard of a hundred teams takes seconds, unless their comparisons were kept in the folder.
    """

    def __init__(self, folder: Path, store: Store, *, renew_s: float = 1.0) -> None:
        """Raises UsageError or StoreFailed if the store cannot be read."""
        self.folder = folder
        self.store = store
        self._renew_s = renew_s
        self.snapshot = Snapshot(store.definition())
        self._comparisons: dict[str, Comparisons] = {}
        self._ranked: dict[str, _Scored] = {}
        self._runs: dict[tuple[str, str, datetime], list[Run]] = {}
        self._lock = threading.Lock()  # of `look`
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._again, args=(each,), name="reglue-page", daemon=True)
            for each in (self.look, self._rank)
        ]
        self._look()

    def start(self) -> None:
        """Renew the snapshot from now on."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_LEAVE_S)

    def look(self) -> None:
        """Read what changed; if the store is away, the snapshot says so."""
        try:
            with self._lock:
                self._look()
        except StoreFailed as error:
            if not self.snapshot.is_away:
                log.warning("the page cannot read the store: %s", error)
            with self._lock:
                self.snapshot = replace(self.snapshot, is_away=True)

    def rank(self) -> None:
        """Update the leaderboard of each phase in which a submission has ended."""
        snapshot = self.snapshot
        for phase in snapshot.phases:
            scored = _scored(snapshot, phase.name)
            if phase.state == "planned" or self._ranked.get(phase.name) == scored:
                continue
            made = {}
            for track in (None, *snapshot.definition.phase(phase.name).tracks):
                name = board_name(phase.name, track)
                if (comparisons := self._comparisons.get(name)) is None:
                    file = self.folder / COMPARISONS / f"{name}.jsonl"
                    comparisons = self._comparisons[name] = Comparisons(file)
                made[name] = leaderboard(
                    snapshot.definition,
                    phase,
                    self.store,
                    self.folder / "runs",
                    track=track,
                    comparisons=comparisons,
                    before=snapshot.freezes_at(phase.name),
                )
            self._ranked[phase.name] = scored
            for each, why in made[phase.name].left_out.items():
                log.error("submission %s is left out of the leaderboard: %s", each, why)
            with self._lock:
                boards = {**self.snapshot.boards, **made}
                ranked = self.snapshot.ranked + 1
                self.snapshot = replace(
                    self.snapshot, boards=MappingProxyType(boards), ranked=ranked
                )

    def runs_folder(self, submission: Submission) -> Path:
        """The folder of a submission's runs."""
        return self.folder / "runs" / submission.folder

    def runs_of(self, submission: Submission) -> Sequence[Run]:
        """A submission's runs; those of one that has ended are kept."""
        if submission.ended_at is None:
            return self.store.runs(submission.id)
        key = (submission.id, submission.team, submission.ended_at)  # a team may be forgotten
        if (runs := self._runs.get(key)) is None:
            runs = self._runs[key] = self.store.runs(submission.id)
            while len(self._runs) > _RUNS_KEPT:
                self._runs.pop(next(iter(self._runs)), None)
        return runs

    def _look(self) -> None:
        now, seen = datetime.now(UTC), self.snapshot
        last = seen.events[0].id if seen.events else 0
        if seen.phases and not self.store.events(after=last, limit=1):
            going_on = self.store.submissions(statuses=UNFINISHED)
            submissions = {**seen.submissions, **{each.id: each for each in going_on}}
            self.snapshot = replace(
                seen, submissions=MappingProxyType(submissions), at=now, is_away=False
            )
            return
        events = tuple(self.store.newest_events(_EVENTS_SHOWN))  # read first: nothing is missed
        found = {each.id: each for each in self.store.submissions()}
        phases = tuple(self.store.phases())
        self.snapshot = replace(
            seen,
            definition=self.store.definition(),
            phases=phases,
            submissions=MappingProxyType(found),
            rulings=MappingProxyType(self.store.rulings()),
            voids=MappingProxyType({each.name: self.store.voids(each.name) for each in phases}),
            choices=MappingProxyType({each.name: self.store.choices(each.name) for each in phases}),
            events=events,
            news=tuple(self.store.news()),
            at=now,
            is_away=False,
        )

    def _rank(self) -> None:
        try:
            self.rank()
        except StoreFailed:
            pass  # `look` says so
        except Exception:  # a damaged result: the page goes on without that leaderboard
            log.exception("a leaderboard cannot be made")

    def _again(self, work: Callable[[], None]) -> None:
        while not self._stop.wait(self._renew_s):
            work()


def _scored(snapshot: Snapshot, phase: str) -> _Scored:
    """The facts on which a phase's leaderboard depends."""
    ended = [e for e in snapshot.of_phase(phase, *SCORED) if not snapshot.is_frozen_out(e)]
    rulings = snapshot.rulings
    return frozenset(
        [
            snapshot.freezes_at(phase),
            *((e.id, e.team, e.status, e.ended_at, e.broken, rulings.get(e.id)) for e in ended),
            *snapshot.voids.get(phase, {}).items(),
            *snapshot.choices.get(phase, {}).items(),
        ]
    )

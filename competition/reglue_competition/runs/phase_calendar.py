"""Opens and closes phases at their dates."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from reglue.errors import EnvironmentFault, UsageError
from reglue_competition.competition_folder import check_admitted
from reglue_competition.definition import may_overlap
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.images.advancement import advance
from reglue_competition.store import UNFINISHED, Phase, Store, Submission

log = logging.getLogger("reglue")

_ADVANCED = "images entered from another phase"

_AGAIN_S = 10.0  # before a phase that could not be opened is tried again


class Calendar:
    """Opens and closes phases by the clock; each decision is stored, so a clock may jump back."""

    def __init__(self, store: Store, hosted: Hosted) -> None:
        self._store = store
        self._hosted = hosted
        self._not_before: dict[str, float] = {}  # by phase: when it is tried again, monotonic s
        self._last_error: dict[str, str] = {}  # by phase: why it was not opened
        self._phases: dict[str, Phase] = {}  # by name
        self._closed: dict[str, Phase] = {}  # by name
        self._playable: set[str] = set()
        self._advanced: set[str] = set()  # phases that have the images of the one before

    def check_commitments(self) -> None:
        """Raise UsageError if the plan of an open phase differs from its published commitment.

        One that waits for another program's server is checked before it is played.
        """
        for phase in self._store.phases():
            if phase.state == "open" and self._hosted.is_planned(phase.name):
                self._hosted.check_commitment(phase)

    def keep(self, now: datetime) -> None:
        """Close phases whose time is over; open those that are due or requested.

        Of those that may not be open at once, the first comes first.
        """
        phases = self._store.phases()
        for phase in phases:
            if phase.state == "open" and now >= phase.closes_at:
                self._store.close_phase(phase.name)
                log.info("phase %s has closed", phase.name)
        self._phases = {phase.name: phase for phase in phases}
        self._closed = {phase.name: phase for phase in phases if phase.state == "closed"}
        begun = [each for each in phases if each.is_open_at(now)]
        for phase in begun:
            self._advance(phase, now)
        for phase in phases:
            is_due = phase.opens_at <= now or phase.open_asked
            is_free = all(may_overlap(phase.kind, each.kind) for each in begun)
            if phase.state == "planned" and is_due and is_free and now < phase.closes_at:
                self._attempt(phase, self._open)
                begun.append(phase)  # or the next one in its place would begin

    def has_begun(self, submission: Submission, now: datetime) -> bool:
        """Whether a submission's round has begun. Closing its phase early begins its last round.

        It depends on stored dates alone, so a restarted server says the same.
        """
        begins = self._hosted.definition.round_of(submission.phase, submission.queued_at)
        return begins is None or now >= begins or submission.phase in self._closed

    def is_playable(self, submission: Submission) -> bool:
        """Whether its phase's plan is made, and is the one that was committed to.

        It may be false for a while after the start of a server: nothing here waits for another
        program's server.
        """
        phase = self._phases.get(submission.phase)
        if phase is None or phase.state == "planned":
            return False
        if phase.name not in self._playable:
            self._attempt(phase, self._check)
        return phase.name in self._playable

    def may_wait(self, submission: Submission, now: datetime) -> bool:
        """Whether a submission may wait for its agent now: see `Submission.waits_until`."""
        phase = self._closed.get(submission.phase)
        until = None if phase is None else submission.waits_until(phase)
        return until is None or now < until

    def _advance(self, phase: Phase, now: datetime) -> None:
        """Enter the images that count in the phase before, once that has been played."""
        before = self._hosted.definition.phase(phase.name).images_from
        if before is None or phase.name in self._advanced or before not in self._closed:
            return
        if not self._store.events_of(_ADVANCED, phase=phase.name):
            if self._store.submissions(before, statuses=UNFINISHED):
                return
            entered = 0
            for each in advance(
                self._hosted.definition,
                self._store,
                self._hosted.folder.runs_path,
                self._closed[before],
                phase,
                now,
            ):
                entered += each.entered is not None
                if each.is_refused:
                    about = {"team": each.before.team}
                    log.warning("an image is not entered: %s", each.why_not, extra=about)
            self._store.note(_ADVANCED, phase=phase.name, of=before, entered=entered)
            log.info("%d images of phase %s were entered into %s", entered, before, phase.name)
        self._advanced.add(phase.name)

    def _attempt(self, phase: Phase, step: Callable[[Phase], None]) -> None:
        """Carry out a step that needs the phase's plan, once that is made.

        If it fails, that is noted, and it is tried again after a while.
        """
        if time.monotonic() < self._not_before.get(phase.name, 0.0):
            return
        try:
            if self._hosted.is_planned(phase.name):
                step(phase)
        except (UsageError, EnvironmentFault) as error:  # in its file, or of a server that it calls
            self._not_before[phase.name] = time.monotonic() + _AGAIN_S
            if self._last_error.get(phase.name) != str(error):
                self._last_error[phase.name] = str(error)
                what = "opened" if phase.state == "planned" else "played"
                log.error("phase %s cannot be %s: %s", phase.name, what, error)
                self._store.note(f"phase not {what}", phase=phase.name, why=str(error))

    def _check(self, phase: Phase) -> None:
        self._hosted.check_commitment(phase)
        self._playable.add(phase.name)

    def _open(self, phase: Phase) -> None:
        hosted = self._hosted
        benchmarks, published = hosted.benchmarks(phase.name), hosted.commitment(phase.name)
        definition = hosted.definition.phase(phase.name)
        check_admitted(self._store, definition, benchmarks, published, folder=hosted.folder.path)
        self._store.open_phase(phase.name, published)
        log.info("phase %s has opened", phase.name)

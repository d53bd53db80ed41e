"""The queue: gives places to submissions whose agents are here, and follows their processes."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from glue_server.processes.child import end_together
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.errors import EnvironmentFault, StoreFailed, UsageError
from reglue_competition.runs import farewells
from reglue_competition.runs.endings import MOST_TRIES, Endings, log_about
from reglue_competition.runs.farewells import Farewells
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.metrics import Metrics
from reglue_competition.runs.phase_calendar import Calendar
from reglue_competition.runs.queue_states import Paused, Playing, States
from reglue_competition.runs.store_entries import StoreEntries
from reglue_competition.runs.submission import (
    Ended,
    Listening,
    News,
    Progress,
    RunEnded,
    SubmissionProcess,
)
from reglue_competition.store import MOST_WAIT, UNFINISHED, Run, Status, Store, Submission
from reglue_competition.store.server_lock import ServerLock

log = logging.getLogger("reglue")

_PROGRESS_S = 1.0  # between two times that progress is stored
_CANCEL_S = 10.0  # how long one that is cancelled may take to end
_ENGINE_S = 30.0  # before an image is tried again whose engine was away

_WAITING: tuple[Status, ...] = ("waiting",)

_CANCELLED = "by the organiser"
_OURS = "a failure of the server's own"
_WITHDRAWN = "its agent left before its turn"
_WAITED = f"its agent did not come within {MOST_WAIT / timedelta(hours=1):g} h of its phase's end"


_Group: TypeAlias = tuple[bool, str]  # whether it is practice, the team


class Queue:
    """Plays the submissions in a competition's store. One thread calls `tick` again and again.

    After a restart it resumes the submissions that were playing. It cannot tell then an agent that
    left from one that gave up on a server that was away: its submission waits, and keeps its
    results.
    """

    def __init__(
        self,
        store: Store,
        hosted: Hosted,
        *,
        lock: ServerLock,
        gateway: AgentGateway,
        entries: StoreEntries,
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._hosted = hosted
        self._lock = lock
        self._gateway = gateway
        self._entries = entries
        self._metrics = metrics
        self._calendar = Calendar(store, hosted)
        self._news = threading.Event()  # a process has some; `wait` clears it
        self._states: States = {}
        self._images_from = 0.0  # before it the engine that runs images is away
        # Until then agents of the server before us look for it.
        window_s = hosted.reconnect_window_s + farewells.MARGIN_S
        self._awaited_until = time.monotonic() + window_s
        self._farewells = Farewells(store, gateway, entries, since=store.now(), window_s=window_s)
        self._endings = Endings(
            store,
            hosted,
            self._states,
            gateway=gateway,
            entries=entries,
            metrics=metrics,
            farewells=self._farewells,
        )

    @property
    def is_idle(self) -> bool:
        """Whether no submission has a process."""
        return not self._processes()

    def tick(self, *, starts: bool = True) -> None:
        """Look once at everything; with `starts` false nothing new begins.

        While the database is away nothing is lost, and what plays goes on: what could not be
        stored is stored later. Raises RunBusy if another server has it then.
        """
        # Before anything that needs the database: processes are heard, and ended, without it.
        for playing in self._playing():
            self._guarded(self._hear, playing)
        self._guarded(self._endings.end_leaving)
        try:
            self._lock.keep()
            for playing in self._playing():
                self._guarded(self._follow_or_break, playing)
            if starts:
                self._guarded(self._calendar.keep, self._store.now())
            self._guarded(self._look_at_the_store, starts)
            self._guarded(self._farewells.send)
        except StoreFailed as error:  # the rest would wait for it in vain, one after another
            self._metrics.store_failures.inc()
            log.error("the database is away, and is tried again: %s", error)

    def wait(self, most_s: float) -> None:
        """Return when a process has said something that `tick` acts on, or after so long."""
        self._news.wait(most_s)
        self._news.clear()

    def interrupt(self) -> None:
        """Stop all that play, so that they go on when the next server is there."""
        for process in self._processes():
            process.leave()

    def close(self, within_s: float) -> None:
        """Interrupt all, and wait for their processes; kill them after that time."""
        self.interrupt()
        end_together(self._processes(), within_s=within_s)

    def _playing(self) -> list[Playing]:
        return [each for each in self._states.values() if isinstance(each, Playing)]

    def _processes(self) -> list[SubmissionProcess]:
        states = self._states.values()
        return [each.process for each in states if not isinstance(each, Paused)]

    def _guarded(self, work: Callable[..., None], *args: object) -> None:
        """Call it; if it fails, everything else continues. Raises StoreFailed."""
        try:
            work(*args)
        except StoreFailed:
            raise
        except Exception:
            log.exception("our own failure")

    def _look_at_the_store(self, starts: bool) -> None:
        waiting, count, now = [], Counter[_Group](), self._store.now()
        unfinished = self._store.submissions(statuses=UNFINISHED)
        for submission in unfinished:
            self._farewells.drop(submission.id)  # it is played again
            count[self._group(submission)] += submission.status == "playing"
            if submission.cancel_asked:
                self._cancel(submission)
            elif starts and self._may_begin(submission) and self._waits(submission, now):
                waiting.append(submission)
        self._metrics.count(unfinished)
        self._metrics.queue.set(len(waiting))
        self._give_places(waiting, count)

    def _may_begin(self, submission: Submission) -> bool:
        """Whether it has no process, not even one that leaves, its pause is over, and its phase's
        plan is made.
        """
        match self._states.get(submission.id):
            case None:
                return self._calendar.is_playable(submission)
            case Paused(not_before) if time.monotonic() >= not_before:
                del self._states[submission.id]
                return self._calendar.is_playable(submission)
            case _:
                return False

    def _waits(self, submission: Submission, now: datetime) -> bool:
        """Whether it waits for a place with its agent. Without waiting, others go on or end."""
        if submission.image is None:
            is_here = self._entries.is_connected(submission.id)
        else:
            is_here = time.monotonic() >= self._images_from
        is_playing = submission.status == "playing"
        if not (is_here or self._may_wait(submission, now)):
            self._endings.withdraw(submission, _WAITED)
        elif self._entries.has_left(submission.id):
            self._give_up(submission)
        elif is_here and not is_playing:
            return self._calendar.has_begun(submission, now)
        elif is_here:
            self._start(submission)
        elif is_playing and submission.image is None and time.monotonic() > self._awaited_until:
            self._start(submission, waits=True)
        return False

    def _give_places(self, waiting: list[Submission], playing: Counter[_Group]) -> None:
        """Give free places to teams that play least, then to those that waited longest.

        Practice comes after all others, and does not count there.
        """

        def turn(each: Submission) -> tuple[object, ...]:
            is_practice, _ = group = self._group(each)
            return is_practice, playing[group], each.queued_at, each.id

        free = self._hosted.definition.play.places - playing.total()
        while waiting and free > 0:
            chosen = min(waiting, key=turn)
            waiting.remove(chosen)
            if self._start(chosen):
                playing[self._group(chosen)] += 1
                free -= 1

    def _group(self, submission: Submission) -> _Group:
        kind = self._hosted.definition.phase(submission.phase).kind
        return kind == "practice", submission.team

    def _give_up(self, submission: Submission) -> None:
        """End a submission whose agent does not come back."""
        window_s = self._hosted.reconnect_window_s
        if submission.status == "playing":
            self._start(submission, lost=f"the agent did not come back within {window_s:g} s")
        elif submission.started_at is None:  # the organiser's replays wait for their agents
            self._endings.withdraw(submission, _WITHDRAWN)

    def _may_wait(self, submission: Submission, now: datetime) -> bool:
        """Whether it may wait for its agent: not for ever, or its phase cannot be revealed."""
        is_new = time.monotonic() <= self._awaited_until  # agents look for this server
        return is_new or self._calendar.may_wait(submission, now)

    def _start(self, submission: Submission, *, lost: str = "", waits: bool = False) -> bool:
        """Give it a process, and its place. Returns whether it has one.

        With `lost` or `waits` that process is without its agent: it takes down how the runs ended.
        """
        submission = self._store.submission(submission.id)  # its cells may have been drawn again
        try:
            settings = self._hosted.settings_of(submission, lost=lost, waits=waits)
            # Before its process begins: the store refuses it if its team has cancelled it just now.
            if submission.status == "waiting":
                if not self._store.set_status(submission.id, "playing", "", _WAITING):
                    return False
                if submission.started_at is None:
                    waited = self._store.now() - submission.queued_at
                    self._metrics.waited.observe(max(0.0, waited.total_seconds()))
            process = SubmissionProcess(settings, self._hosted.secrets.sign, on_news=self._news.set)
        except StoreFailed:  # the database's, not this submission's
            raise
        # A file of the environment is gone, or a server that it calls, or memory.
        except (OSError, UsageError, EnvironmentFault) as error:
            self._endings.try_later(submission, str(error))
            return False
        except Exception as error:
            log.exception(_OURS)
            self._endings.try_later(submission, _of_ours(error))
            return False
        self._states[submission.id] = Playing(submission, process, is_alone=waits or bool(lost))
        log_about(submission, "goes on" if submission.status == "playing" else "begins")
        return True

    def _hear(self, playing: Playing) -> None:
        """Take in what its process says. It needs no database."""
        playing.is_silent = playing.process.is_silent()
        for news in playing.process.news():
            takes_agent = playing.submission.image is None and not playing.is_alone
            if isinstance(news, Listening) and takes_agent:
                self._gateway.assign(playing.submission.id, playing.process)
            playing.news.append(news)
        if playing.cancelled_at and time.monotonic() > playing.cancelled_at + _CANCEL_S:
            playing.process.end(0.0)  # whatever an environment is doing

    def _follow_or_break(self, playing: Playing) -> None:
        """Call `_follow`; break the submission if our own failure repeats."""
        try:
            self._follow(playing)
            playing.failures = 0
        except StoreFailed:  # the database's, not this submission's
            raise
        except Exception as error:
            playing.failures += 1
            if playing.failures < MOST_TRIES:
                raise
            log.exception("our own failure, which came %d times", playing.failures)
            playing.process.cancel(_OURS)
            self._endings.conclude_playing(playing, "broken", _of_ours(error))

    def _follow(self, playing: Playing) -> None:
        """Take down what its process said; one that is not stored is stored the next time."""
        while playing.news:
            if self._take(playing, playing.news[0]):
                return
            playing.news.popleft()
        if playing.is_silent:
            self._died(playing)
        self._store_progress(playing)

    def _take(self, playing: Playing, news: News) -> bool:
        """Returns whether its process leaves now."""
        match news:
            case Progress():
                self._count(playing, news)
            case RunEnded():
                self._store.record_run(Run(submission=playing.submission.id, **asdict(news)))
            case Ended():
                self._ended(playing, news)
                return True
            case Listening():  # `_hear` has taken it in
                pass
            case Exception():
                raise news
            case _:
                assert_never(news)
        return False

    def _count(self, playing: Playing, progress: Progress) -> None:
        before = playing.done.get(progress.index, progress.done)
        self._metrics.episodes.inc(max(0, progress.done - before))
        playing.done[progress.index] = progress.done
        playing.progress = progress

    def _store_progress(self, playing: Playing) -> None:
        now = time.monotonic()
        if playing.progress is not None and now >= playing.stored_at + _PROGRESS_S:
            self._store.set_progress(playing.submission.id, asdict(playing.progress))
            playing.progress, playing.stored_at = None, now

    def _ended(self, playing: Playing, ended: Ended) -> None:
        submission = playing.submission
        if ended.again:
            not_before = self._endings.failed(submission, ended.detail, ended.used)
            self._endings.let_go(playing, not_before=not_before)
            return
        if ended.status == "waiting" and submission.image is not None:
            self._images_from = time.monotonic() + _ENGINE_S
            log_about(submission, ended.detail, logging.ERROR)
            if submission.status == "playing":  # it keeps its place
                self._endings.let_go(playing, not_before=self._images_from)
                return
        self._endings.conclude_playing(playing, ended.status, ended.detail, ended.used)

    def _died(self, playing: Playing) -> None:
        """Handle a process that ended without a message."""
        submission = playing.submission
        if playing.cancelled_at is None:
            not_before = self._endings.failed(submission, "its process died")
            self._endings.let_go(playing, not_before=not_before)
            return
        self._endings.conclude_playing(playing, "cancelled", _CANCELLED)

    def _cancel(self, submission: Submission) -> None:
        playing = self._states.get(submission.id)
        if not isinstance(playing, Playing):
            self._endings.end(submission, "cancelled", _CANCELLED)
        elif playing.cancelled_at is None:
            playing.cancelled_at = time.monotonic()
            playing.process.cancel(_CANCELLED)


def _of_ours(error: Exception) -> str:
    return f"{_OURS}: {type(error).__name__}: {error}"

"""A competition: teams enter agents, and its server is killed and started again."""

from __future__ import annotations

import atexit
import math
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import reglue
from glue_server.environment import worker
from reglue.errors import Busy, Refused, UsageError
from reglue.net.join_string import JoinString
from reglue_competition.competition_folder import SQLITE, CompetitionFolder
from reglue_competition.phases import Secrets
from reglue_competition.ranking import leaderboard
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.process import submission_process
from reglue_competition.runs.serve import Addresses, serve
from reglue_competition.runs.steady_clock import SteadyClock
from reglue_competition.store import FINAL, REPLAYED, UNFINISHED, Status, Store, migrate
from reglue_competition.store.database import sqlite_url
from tests.simulator.scheduler import Process, Scheduler, simulated
from tests.simulator.virtual_network import here, network
from tests.simulator.virtual_processes import mains, send_signal
from tests.simulator.virtual_threads import WallClock, put_datetime_into
from tests.simulator.worlds.competition_checks import Outcome, Refusal, Team, check
from tests.simulator.worlds.competition_model import Event
from tests.simulator.worlds.drain_checks import Drain
from tests.simulator.worlds.drawn_calendar import draw_calendar
from tests.simulator.worlds.guessing import Guesser, Manner
from tests.simulator.worlds.restarting import keep_starting
from tests.simulator.wrong_answers import AGAIN, WRONG

_ADDRESS = "127.0.0.1:4096"
_MANNERS: tuple[Manner, ...] = (
    *("plays", "plays", "plays", "wears", "leaves", "raises", "hangs", "errs", "repeats"),
)
_MOST_STARTS = 8  # of an agent
_AWAY_S = 16.0  # after which an agent that does not come is given up: twice the longest stop
_DRAINS = 0.6  # the share of runs in which servers are told to end
_DRAINS_S = (1.0, 8.0)  # when, from … to …
_DEATHS = 0.4  # the share of runs in which a server is killed when a submission has ended
_DIES_S = 0.3  # within so many seconds
_TIMEOUTS_S = (0.0, 6.0)  # for which submissions go on then

mains["reglue_competition.runs.process.submission_process"] = submission_process.main
mains["glue_server.environment.worker"] = worker.main
vars(worker)["collecting_seldom"] = nullcontext  # it lets no garbage go that a run leaves
for _package in ("glue_server", "reglue_competition"):
    put_datetime_into(_package)


@cache
def _template() -> Path:
    """A competition's folder in which nothing has happened; it lasts as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="reglue-simulated-"))
    atexit.register(shutil.rmtree, folder)

    def make() -> None:
        Secrets.create(folder / "secrets")
        migrate(sqlite_url(folder / SQLITE))

    with simulated(Scheduler(0)) as run:
        run.run(until=run.process("organiser", make).has_ended, limit_s=60.0)
    return folder


class CompetitionWorld:
    """Scores are those of undisturbed runs, rules hold, and each submission comes to an end.

    The server, its submissions, their environments and the teams' agents are killed and stopped,
    connections break and clocks jump. Teams break their environment, hang, answer wrongly, leave
    and come back. The organiser cancels, closes a phase early, ends servers, and has played again.
    """

    disturbances: ClassVar[Sequence[str]] = ("kill", "kill", "stop", "cut")
    disturbances_s: ClassVar[float] = 12.0
    limit_s: ClassVar[float] = 400.0

    def __init__(self, run: Scheduler) -> None:
        self._run, self._began_at = run, run.now
        self._folder = Path(tempfile.mkdtemp(prefix="reglue-simulated-"))
        run.masked["FOLDER"] = str(self._folder)
        shutil.copytree(_template(), self._folder, dirs_exist_ok=True)
        self._tokens: dict[str, str] = {}
        self._servers: list[Process] = []  # all that there were
        self._began_after: dict[Process, int] = {}  # the last event before a server
        self._drained: dict[Process, float] = {}  # servers that were told to end, and when
        self._is_over = self._serves = self._has_died = False
        rng = run.rng
        begins = datetime(2027, 2, 1, tzinfo=UTC) - timedelta(seconds=rng.uniform(-30.0, 30.0))
        self._clock = run.own(WallClock)
        self._clock.off_s = self._right_s = begins.timestamp() - time.time()
        self._calendar = draw_calendar(rng, begins)
        teams = [
            Team(name, rng.randint(0, 10), rng.choices(_MANNERS, k=rng.randint(1, 2)))
            for name in "ABC"[: rng.randint(2, 3)]
        ]
        hosted = Hosted(
            CompetitionFolder(self._folder, self._calendar.definition),
            Secrets.read(self._folder / "secrets"),
        )
        self._outcome = Outcome(hosted, self._calendar, {each.name: each for each in teams})
        if rng.random() < 0.3:
            self._let_the_clock_jump()
        self._drain_timeout_s = rng.uniform(*_TIMEOUTS_S)
        if rng.random() < _DRAINS:
            run.after(rng.uniform(*_DRAINS_S), self._drain)
        self._dies_at_end = rng.random() < _DEATHS  # of a submission; once
        run.process("organiser", self._organise)

    def _let_the_clock_jump(self) -> None:
        rng, run = self._run.rng, self._run
        jump_s = rng.choice((-1, 1)) * rng.uniform(2 * 3600.0, 30 * 3600.0)

        def jump() -> None:
            if self._serves:
                self._clock.off_s += jump_s
                run.say(f"the clock jumps by {jump_s / 3600:.1f} h")

        at_s = rng.uniform(0.5, 10.0)
        run.after(at_s, jump)
        run.after(at_s + rng.uniform(1.0, 10.0), self._set_the_clock)

    def _set_the_clock(self) -> None:
        self._clock.off_s = self._right_s

    def _drain(self) -> None:
        """Tell the server to end."""
        if self._serves and self._servers[-1].is_alive:
            self._drained[self._servers[-1]] = self._run.now
            send_signal(self._servers[-1], signal.SIGTERM)

    # The processes.

    def _serve(self) -> None:
        self._serves = False
        assert self._run.current is not None
        self._servers.append(self._run.current.process)
        self._began_after[self._servers[-1]] = self._last_event()
        self._set_the_clock()  # as machines do when they start: a server believes its first look

        def say(what: str) -> None:
            self._serves = True
            self._run.say_here(what)

        with (
            self._outcome.hosted.folder.store(SteadyClock()) as store,
            patch.object(store, "set_status", partial(self._set_status, store.set_status)),
        ):
            serve(
                self._outcome.hosted,
                store,
                Addresses(_ADDRESS),
                drain_timeout_s=self._drain_timeout_s,
                say=say,
            )

    def _set_status(
        self,
        set_status: Callable[..., bool],
        submission: str,
        status: Status,
        *how: Any,
        **more: Any,
    ) -> bool:
        """Set it. After an end the server may be killed, before its agent has heard of it."""
        is_set = set_status(submission, status, *how, **more)
        if is_set and status in FINAL and self._dies_at_end:
            self._dies_at_end, self._has_died = False, True
            server = self._servers[-1]
            at_s = self._run.rng.uniform(0.0, _DIES_S)
            self._run.after(at_s, partial(self._run.end_process, server, -9))
        return is_set

    def _has_ended(self, server: Process) -> None:
        """Look at what a server has left."""
        self._look()
        if server in self._drained and server.exit_code == 0 and not server.was_stopped:
            at_s = self._drained[server]
            took_s, at = self._run.now - at_s, self._date(at_s)
            drain = Drain(
                self._began_after[server], at, self._last_event(), self._drain_timeout_s, took_s
            )
            self._outcome.drains.append(drain)

    def _organise(self) -> None:
        run, rng, outcome = self._run, self._run.rng, self._outcome
        with outcome.hosted.folder.store() as store:
            store.apply(outcome.hosted.definition)
            for name in outcome.teams:
                self._tokens[name] = store.new_token(store.add_team(name))
            keep_starting(run, "server", self._serve, until=self.is_over, at_end=self._has_ended)
            people = [
                run.process(f"people of {team.name}{n}", partial(self._take_part, team, n))
                for team in outcome.teams.values()
                for n in range(len(team.manners))
            ]
            if rng.random() < 0.3:
                time.sleep(rng.uniform(2.0, 15.0))
                self._cancel(store, 1)
            if rng.random() < 0.2:
                time.sleep(rng.uniform(0.0, 8.0))
                self._close_early(store)
            run.wait(lambda: not any(each.is_alive for each in people))
            self._conclude(store)
            if rng.random() < 0.5:
                self._play_again(store)
                self._conclude(store)
            outcome.submissions = store.submissions()
            outcome.runs = {each.submission: each for each in store.runs(with_results=False)}
            outcome.boards = {
                each.name: [
                    row.team
                    for row in leaderboard(
                        outcome.hosted.definition, each, store, outcome.hosted.folder.runs_path
                    ).rows
                ]
                for each in store.phases()
            }
        self._is_over = True

    def _close_early(self, store: Store) -> None:
        try:
            store.close_phase("public")
        except UsageError as error:  # it was never open
            self._run.say_here(str(error))

    def _conclude(self, store: Store) -> None:
        """Wait until all have ended; one whose agent does not come back is cancelled."""
        self._wait(store, _AWAY_S)
        self._cancel(store, len(store.submissions()))
        self._wait(store)

    def _wait(self, store: Store, within_s: float = math.inf) -> None:
        until = time.monotonic() + within_s
        while store.submissions(statuses=UNFINISHED) and time.monotonic() < until:
            time.sleep(1.0)

    def _cancel(self, store: Store, most: int) -> None:
        for each in store.submissions(statuses=UNFINISHED)[:most]:
            self._outcome.cancelled.add(each.id)
            try:
                store.ask_cancel(each.id)
            except UsageError as error:  # it has just ended
                self._run.say_here(str(error))

    def _play_again(self, store: Store) -> None:
        """Have one submission played again, by an agent without its fault."""
        found = store.submissions(statuses=REPLAYED)
        if not found:
            return
        again = self._run.rng.choice(found)
        try:
            store.ask_replay(again.id)
        except UsageError as error:
            self._run.say_here(str(error))
            return
        self._outcome.replayed[again.id] = again.status
        team = self._outcome.teams[again.team]
        number = int(again.name.removeprefix(team.name))
        people = partial(self._take_part, team, number, "plays", "'")
        self._run.wait(self._run.process(f"people of {again.name}", people).has_ended)

    def _take_part(
        self, team: Team, number: int, manner: Manner | None = None, mark: str = ""
    ) -> None:
        """Have an agent play; one that has ended before its submission is started again."""
        run, rng, name = self._run, self._run.rng, f"{team.name}{number}"
        manner = manner or team.manners[number]
        for _ in range(_MOST_STARTS):
            time.sleep(rng.uniform(0.0, 4.0))
            agent = run.process(
                f"agent {name}", partial(self._join, team, name, manner, name + mark)
            )
            if manner == "leaves":
                run.after(rng.uniform(0.1, 5.0), partial(run.end_process, agent, -9))
            run.wait(agent.has_ended)
            if agent.exit_code == -9 or agent.was_stopped:
                self._outcome.hit.add(name)
            if manner == "leaves" or self._status(name) in FINAL:
                return

    def _join(self, team: Team, name: str, manner: Manner, label: str) -> None:
        tls, after, began_at = self._outcome.hosted.secrets.tls, self._last_event(), self._run.now
        where = JoinString(_ADDRESS, self._tokens[team.name], tls.authority, tls.name)
        if manner in ("errs", "repeats"):
            how = self._run.rng.choice(WRONG) if manner == "errs" else AGAIN
            network().errs[here()] = how
            self._run.say_here(f"answers wrongly, or twice: {how}")
        met = self._outcome.met[label]
        agent = Guesser(team.skill, manner, lambda episode: met.update((episode,)))
        try:
            reglue.connect(agent, str(where), name=name, transport="grpc", handle_signals=False)
        except Busy:
            raise
        except Refused as refused:
            if self._status(name) is None:
                self._note_refusal(team, refused, after, began_at)
            raise

    def _note_refusal(self, team: Team, refused: Refused, after: int, began_at: float) -> None:
        now = self._run.now
        phases = self._calendar.open_from(began_at - self._began_at, now - self._began_at)
        days = [self._date(each).date() for each in (began_at, now)]
        refusal = Refusal(team.name, str(refused), phases, days, after, self._last_event())
        self._outcome.refusals.append(refusal)

    def _date(self, at: float) -> datetime:
        """The right date at that monotonic second."""
        return self._calendar.begins + timedelta(seconds=at - self._began_at)

    # Reads of the database.

    def _read(self, sql: str, *values: str) -> list[Any]:
        uri = f"file:{self._folder / SQLITE}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def _last_event(self) -> int:
        return int(self._read("SELECT max(id) FROM event")[0][0])

    def _status(self, name: str) -> str | None:
        """The status of the newest submission of that name; None if there is no such submission."""
        of_name = "SELECT status FROM submission WHERE name = ? ORDER BY queued_at DESC"
        rows = self._read(of_name, name)
        return rows[0][0] if rows else None

    def _look(self) -> None:
        """Note a violation if an event that was committed is missing."""
        rows = self._read(
            "SELECT event.id, kind, team.name, submission, detail, at FROM event "
            "LEFT JOIN team ON team.id = team_id ORDER BY event.id"
        )
        events = [Event(*row) for row in rows]
        if events[: len(self._outcome.events)] != self._outcome.events:
            self._run.violate(f"events that were committed are lost: {self._outcome.events}")
        self._outcome.events = events

    # The world.

    def targets(self) -> Sequence[Process]:
        """The server and its children, and the agents; the server counts twice."""
        kinds = ("submission_process", "worker", "agent")
        others = [each for each in self._run.processes if each.name.partition(" ")[0] in kinds]
        return [*(each for each in self._servers[-1:] * 2 if each.is_alive), *others]

    def is_over(self) -> bool:
        """Whether all submissions have ended, and the leaderboards are made."""
        return self._is_over

    def check(self) -> None:
        """Raise Violation if something does not hold."""
        self._look()
        self._outcome.is_calm = not (self._drained or self._has_died or self._run.disturbed)
        self._outcome.had_pause = any(each.was_stopped for each in self._servers)
        check(self._outcome)

    def close(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self._folder)

"""Failures around a queue: its database, disk, page and clock fail, and runs go on."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import httpx2
import pytest
import tomli_w

from reglue.errors import EntryRefused, RunBusy
from reglue.retrying import Backoff
from reglue_competition.definition import FILE
from reglue_competition.page.site import Site
from reglue_competition.runs import endings, page_process
from reglue_competition.runs.page_process import PageProcess
from reglue_competition.runs.submission import run_folder
from reglue_competition.store import Store, Submission
from reglue_competition.store.server_lock import ServerLock
from tests.error_facts import raises
from tests.leftovers import child_processes
from tests.reglue_bench.agents import Pausing, Seeded
from tests.reglue_bench.bakeoffs import count_rows, wait_for_rows
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.postgresql import PostgreSQL
from tests.reglue_competition.runs.corridor_submissions import joined, joined_process, of_folder
from tests.reglue_competition.runs.hosting import Hosting, corridor, hosting
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

SHORT = phase(benchmarks=[corridor(num_episodes=2)])
EPISODES = 4  # of those: two of each task
LONG = phase(benchmarks=[corridor(num_episodes=100)])  # far more than a full disk takes


def check_rows(server: Hosting, folder: Path, *teams: str) -> None:
    """Each has the rows that it gets alone, and one score."""
    kinds = [(event.kind, event.team) for event in server.store.events(limit=10_000)]
    for team in teams:
        submission = server.submission(team)
        here = of_folder(server.folder(submission), 1)
        assert here == server.alone(folder / "alone" / team, Seeded(), submission), team
        assert len(server.store.runs(submission.id)) == 1
        assert kinds.count(("submission finished", team)) == 1
        assert kinds.count(("run recorded", team)) == 1


@contextmanager
def sqlite_away(url: str) -> Iterator[None]:
    """Another program writes for long."""
    other = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.close()


@contextmanager
def postgresql_away(server: PostgreSQL) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


def test_runs_go_on_while_the_database_is_away(
    tmp_path: Path, url: str, request: pytest.FixtureRequest
) -> None:
    """Nobody is let in meanwhile, and what could not be stored is stored, once, when it is back."""
    is_sqlite = url.startswith("sqlite")
    with (
        hosting(tmp_path, SHORT, url=url, patience_s=0.3) as server,
        Store(url, patience_s=0.3) as read,
        ExitStack() as agents,
    ):
        site = Site(tmp_path, read)
        agents.enter_context(joined(server.team("plays"), Pausing()))
        late = server.team("late")
        folder = run_folder(server.folder(server_plays(server)), 0)
        server.runs_until(lambda: count_rows(folder) > 0, "it has played some")
        with (
            sqlite_away(url)
            if is_sqlite
            else postgresql_away(request.getfixturevalue("postgresql"))
        ):
            agents.enter_context(joined(late, Seeded()))
            refused = refusals(server)
            server.runs_until(lambda: refused() > 0, "the late one is refused")
            wait_for_rows(folder, EPISODES)
            until_failed = failures(server) + 2
            server.runs_until(lambda: failures(server) >= until_failed, "it cannot be stored")
            site.look()
            assert site.snapshot.is_away is not is_sqlite  # SQLite's readers do not wait
        server.runs_until_status("finished", "plays", "late")
        site.look()
        assert not site.snapshot.is_away
        check_rows(server, tmp_path, "plays", "late")


def test_a_submission_begins_to_play_though_the_database_went_away(
    tmp_path: Path, postgresql: PostgreSQL
) -> None:
    """Its place was stored before; its agent is carried to its process meanwhile."""
    url = postgresql.emptied_database()
    with (
        hosting(tmp_path, SHORT, url=url, patience_s=0.3) as server,
        joined(server.team("ours"), Seeded()),
    ):
        server.runs_until_status("playing", "ours")
        folder = run_folder(server.folder(server.submission("ours")), 0)
        with postgresql_away(postgresql):
            server.runs_until(lambda: folder.exists() and count_rows(folder) > 0, "it plays")
        server.runs_until_status("finished", "ours")
        check_rows(server, tmp_path, "ours")


def test_a_server_that_comes_back_too_late_leaves_its_submissions_to_the_next(
    tmp_path: Path, postgresql: PostgreSQL
) -> None:
    url = postgresql.emptied_database()
    with (
        hosting(tmp_path, LONG, url=url, patience_s=0.3) as server,
        joined_process(server.team("ours"), "Pausing"),
    ):
        server.runs_until_status("playing", "ours")
        with postgresql_away(postgresql):
            pass
        with closing(ServerLock(url)), raises(RunBusy, "another server"):
            server.runs_until_status("finished", "ours")
        assert server.submission("ours").status == "playing"


def server_plays(server: Hosting) -> Submission:
    server.runs_until_status("playing", "plays")
    server.runs_until(
        lambda: run_folder(server.folder(server.submission("plays")), 0).exists(), "it has begun"
    )
    return server.submission("plays")


def failures(server: Hosting) -> float:
    return server.metrics.registry.get_sample_value("reglue_store_failures_total") or 0.0


def refusals(server: Hosting) -> Callable[[], float]:
    name, why = "reglue_entries_refused_total", {"why": "later"}
    return lambda: server.metrics.registry.get_sample_value(name, why) or 0.0


@pytest.mark.usefixtures("cleared")
def test_a_full_disk_breaks_a_submission_and_its_replay_finishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its files may have so many bytes: the third try gives up."""
    monkeypatch.setattr(endings, "_PAUSES", Backoff(0.1))
    before = child_processes()
    with hosting(tmp_path, LONG) as server:
        where = server.team("ours")

        def is_broken() -> bool:
            for process in child_processes() - before:
                with suppress(ProcessLookupError):  # it has just ended
                    resource.prlimit(process, resource.RLIMIT_FSIZE, (100_000, 100_000))
            found = server.store.submissions(team="ours")
            assert not found or found[-1].status != "finished", "the disk was not full"
            return bool(found) and found[-1].status == "broken"

        with joined(where, Seeded()) as agent:
            server.runs_until(is_broken, "the disk is full", 3 * PATIENCE_S)
            farewell = agent.result(PATIENCE_S)
        assert "by our own failure" in farewell
        assert str(tmp_path) not in farewell  # the detail is the organiser's
        submission = server.submission("ours")
        assert f"{tmp_path}" in submission.detail
        assert "cannot be used" in submission.detail
        assert server.store.runs() == []
        server.store.ask_replay(submission.id)
        with joined(where, Seeded()):  # before the queue has seen the last process end
            until(lambda: server.entries.is_connected(submission.id), "it waits")
            server.runs_until_status("finished", "ours")
        check_rows(server, tmp_path, "ours")


@pytest.mark.usefixtures("cleared")
def test_a_page_that_is_killed_is_started_again_and_no_run_notices(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_process, "_AGAIN_S", 0.1)
    with hosting(tmp_path, SHORT) as server, joined(server.team("ours"), Pausing()):
        file = tomli_w.dumps(server.hosted.definition.model_dump(exclude_none=True))
        (tmp_path / FILE).write_text(file, encoding="utf-8")
        page = PageProcess(server.hosted.folder, "127.0.0.1:0")
        try:
            server.runs_until_status("playing", "ours")
            for killed in (True, False):
                address = ""

                def answers() -> bool:
                    nonlocal address
                    page.keep()
                    address += capfd.readouterr().out
                    return "\n" in address

                server.runs_until(answers, "the page answers")
                assert httpx2.get(f"{address.strip()}healthz").json() == {"store": "ok"}
                if killed:
                    os.kill(page._process.pid, signal.SIGKILL)
                    page._process.wait()
            server.runs_until_status("finished", "ours")
        finally:
            page.close()
        check_rows(server, tmp_path, "ours")


@pytest.mark.usefixtures("cleared")
def test_a_clock_that_jumps_disturbs_no_run_and_gives_no_team_more(tmp_path: Path) -> None:
    """Time limits are of another clock. A submission of tomorrow counts tomorrow, whenever."""
    noon, day = datetime(2026, 6, 1, 12, tzinfo=UTC), timedelta(days=1)
    jumps = cycle([timedelta(hours=hours) for hours in (0, 1000, -1000, 3, -3)])
    quotas = {"a_day": 2, "at_once": None}
    with hosting(tmp_path, SHORT, clock=lambda: noon + next(jumps), quotas=quotas) as server:
        with joined(server.team("ours"), Seeded()):
            server.runs_until_status("finished", "ours")
        check_rows(server, tmp_path, "ours")
        assert [each.state for each in server.store.phases()] == ["open"]
        team = server.store.add_team("others")
        server.store.enter(team, "tomorrow", noon + day)
        server.store.enter(team, "today", noon)
        for now in (noon, noon + day):
            server.store.enter(team, f"one more at {now}", now)
            with raises(EntryRefused, 2, "today"):
                server.store.enter(team, "another", now)

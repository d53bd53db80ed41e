"""The queue: who plays when, and what of it stands."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections import Counter
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc.handlers import Caller
from reglue.errors import EnvironmentFault, Refused
from reglue.retrying import Backoff
from reglue_bench.results.scoring import read_run
from reglue_competition.runs import endings, farewells
from reglue_competition.runs.hosted import Hosted
from reglue_competition.runs.submission import TO_SUBMISSION, SubmissionSettings, run_folder
from reglue_competition.store.records import Status, Submission
from tests.error_facts import raises
from tests.leftovers import child_processes
from tests.reglue_bench.agents import Pausing, Raises, Seeded
from tests.reglue_competition.competitions import phase, practice
from tests.reglue_competition.runs.corridor_submissions import joined, joined_process, of_folder
from tests.reglue_competition.runs.hosting import corridor, hosting
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]


def test_teams_get_at_once_to_the_bit_what_each_gets_alone(tmp_path: Path) -> None:
    """Whatever other teams' agents do: raise, hang, or be killed."""
    benchmarks = [corridor(), corridor(num_episodes=3)]
    play = {"places": 5, "step_s": 1.0}
    with (
        hosting(tmp_path, phase(benchmarks=benchmarks), play=play) as server,
        ExitStack() as agents,
    ):
        where = {name: server.team(name) for name in ("a", "b", "raises", "hangs", "killed")}
        for name, agent in (("a", Seeded()), ("b", Seeded()), ("raises", Raises())):
            agents.enter_context(joined(where[name], agent))
        agents.enter_context(joined_process(where["hangs"], "Hangs"))
        killed = agents.enter_context(joined_process(where["killed"], "Pausing"))
        server.runs_until(
            lambda: (
                bool(server.store.submissions(team="killed"))
                and bool(server.submission("killed").progress.get("done"))
            ),
            "it plays",
        )
        killed.kill()
        server.runs_until_status("finished", "a", "b")
        server.runs_until_status("failed", "raises", "hangs", "killed")
        details = [server.submission(name).detail for name in ("raises", "hangs", "killed")]
        assert details[0].startswith("agent_error: KeyError: 'coffee'")
        assert details[1].startswith("agent_timeout")
        assert details[2].startswith("agent_disconnected")  # after its window, not its turn
        for name in ("a", "b"):
            submission = server.submission(name)
            here = of_folder(server.folder(submission), 2)
            assert here == server.alone(tmp_path / name, Seeded(), submission)
            runs = server.store.runs(submission.id)
            assert [(run.index, run.status, run.owner) for run in runs] == [
                (0, "ok", ""),
                (1, "ok", ""),
            ]
            assert all(run.score is not None and run.result for run in runs)
        assert len(server.store.runs()) == 10


def test_places_go_to_teams_that_play_least_then_to_who_has_waited_longest(tmp_path: Path) -> None:
    with hosting(tmp_path, play={"places": 2}) as server, ExitStack() as agents:
        ours, others, theirs = (server.team(name) for name in ("ours", "others", "theirs"))
        agents.enter_context(joined(ours, Pausing(), name="first"))
        agents.enter_context(joined(others, Seeded(), name="second"))
        server.runs_until_status("playing", "ours", "others")
        agents.enter_context(joined(ours, Seeded(), name="fourth"))
        server.runs_until(lambda: len(server.store.submissions()) == 3, "it is entered")
        agents.enter_context(joined(theirs, Seeded(), name="third"))
        server.runs_until(
            lambda: {"finished"} == {each.status for each in server.store.submissions()},
            "all are finished",
        )
        begun = sorted(server.store.submissions(), key=lambda each: str(each.started_at))
        assert {each.name for each in begun[:2]} == {"first", "second"}
        assert [each.name for each in begun[2:]] == ["third", "fourth"]
        metrics = server.metrics.registry
        assert metrics.get_sample_value("reglue_waited_seconds_count") == 4
        finished = {"status": "finished"}
        assert metrics.get_sample_value("reglue_submissions_ended_total", finished) == 4


def test_practice_gets_a_place_where_nobody_waits_for_another_phase(tmp_path: Path) -> None:
    """Also of a team that plays least, and has waited longest."""
    phases = (practice(benchmarks=[corridor()]), phase(benchmarks=[corridor()]))
    with hosting(tmp_path, *phases, play={"places": 1}) as server, ExitStack() as agents:
        ours = server.team("ours")
        agents.enter_context(joined(ours, Pausing(), name="first"))
        server.runs_until_status("playing", "ours")
        server.team("others")
        practising = server.token("others", "practice")
        agents.enter_context(joined(practising, Seeded(), name="third"))
        server.runs_until(lambda: len(server.store.submissions()) == 2, "it is entered")
        agents.enter_context(joined(ours, Seeded(), name="second"))
        server.runs_until(
            lambda: [each.status for each in server.store.submissions()] == 3 * ["finished"],
            "all are finished",
        )
        begun = sorted(server.store.submissions(), key=lambda each: str(each.started_at))
        assert [(each.name, each.phase) for each in begun] == [
            ("first", "public"),
            ("second", "public"),
            ("third", "practice"),
        ]


def test_what_a_team_plays_counts_in_practice_and_in_other_phases_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def starts(submission: Submission) -> bool:
        order.append(submission.name)
        return True

    with hosting(tmp_path, practice(), phase(), play={"places": 6}) as server:
        monkeypatch.setattr(server.queue, "_start", starts)
        for team in ("ours", "others"):
            server.team(team)
        names = {"ours": ("p1", "p2", "a", "b"), "others": ("p3", "c")}
        entered = [
            server.enter(team, name, "practice" if name.startswith("p") else None)
            for team, each in names.items()
            for name in each
        ]
        server.queue._give_places(entered, Counter({(True, "ours"): 1}))
    assert order == ["a", "c", "b", "p3", "p1"]


def test_many_that_wait_are_all_played_and_none_twice(tmp_path: Path) -> None:
    """However many wait, no more play at once than there are places."""
    short = phase(benchmarks=[corridor(num_episodes=1)])
    with (
        hosting(tmp_path, short, play={"places": 2}, quotas={"at_once": 2}) as server,
        ExitStack() as agents,
    ):
        for team in ("ours", "theirs"):
            where = server.team(team)
            for number in range(2):
                agents.enter_context(joined(where, Seeded(), name=f"agent {number}"))

        def finished() -> int:
            statuses = Counter(each.status for each in server.store.submissions())
            assert statuses["playing"] <= 2
            return statuses["finished"]

        for count in range(1, 5):
            server.runs_until(lambda: finished() >= count, f"{count} have finished")  # noqa: B023
        kinds = Counter((each.kind, each.submission) for each in server.store.events(limit=1000))
        for submission in server.store.submissions():
            for kind in ("submission entered", "run recorded", "submission finished"):
                assert kinds[kind, submission.id] == 1
            played = read_run(run_folder(server.folder(submission), 0)).episodes
            cells = [(row.task, row.repeat, row.attempt) for row in played]
            assert cells == [("a", 0, 0), ("b", 0, 0)]
        assert len(server.store.runs()) == 4


def test_an_agent_that_leaves_before_its_turn_has_withdrawn(tmp_path: Path) -> None:
    """Its quota is free again."""
    with hosting(tmp_path, quotas={"at_once": 1}) as server:
        where = server.team("ours")
        with joined_process(where, "Seeded") as agent:
            until(lambda: server.store.submissions() != [], "it is entered")
            submission = server.submission("ours")
            until(lambda: server.entries.is_connected(submission.id), "it waits")
            agent.send_signal(signal.SIGINT)
            until(lambda: server.entries.has_left(submission.id), "it has left")
        server.runs_until_status("withdrawn", "ours")
        server.enter("ours", "another")
        with (
            joined(where, Seeded()) as refused,
            raises(Refused, 1),
        ):
            refused.result(PATIENCE_S)
        entry = {"why": "entry"}
        assert server.metrics.registry.get_sample_value("reglue_entries_refused_total", entry) == 1


def test_a_cancelled_submission_says_so_whether_it_waits_or_plays(tmp_path: Path) -> None:
    with hosting(tmp_path, play={"places": 1}) as server:
        with joined(server.team("plays"), Pausing()) as playing:
            server.runs_until_status("playing", "plays")
            with joined(server.team("waits"), Seeded()) as waiting:
                server.runs_until_status("waiting", "waits")
                for team in ("waits", "plays"):
                    server.store.ask_cancel(server.submission(team).id)
                server.runs_until_status("cancelled", "waits", "plays")
                for agent in (waiting, playing):
                    server.runs_until(agent.done, "it is told")
                    assert "cancelled: by the organiser" in agent.result()
        assert server.store.runs() == []


def test_one_that_is_played_again_has_no_farewell_from_before(tmp_path: Path) -> None:
    with hosting(tmp_path, play={"reconnect_window_s": PATIENCE_S}) as server:
        where = server.team("ours")
        submission = server.entries.enter(where.token, "mine", Caller("127.0.0.1:1"))
        server.store.ask_cancel(submission)
        server.runs_until_status("cancelled", "ours")
        server.store.ask_replay(submission)
        with joined(where, Seeded(), name="mine") as agent:
            server.runs_until(agent.done, "it has played")
            assert agent.result() == "the submission is finished, thank you"
        assert [each.id for each in server.store.submissions()] == [submission]


def test_a_farewell_of_practice_is_not_for_an_agent_of_another_phase(tmp_path: Path) -> None:
    phases = (practice(benchmarks=[corridor()]), phase(benchmarks=[corridor()]))
    with hosting(tmp_path, *phases, play={"reconnect_window_s": PATIENCE_S}) as server:
        server.team("ours")
        where = {each: server.token("ours", each).token for each in ("practice", "public")}
        caller = Caller("127.0.0.1:1")
        practised = server.entries.enter(where["practice"], "mine", caller)
        server.store.ask_cancel(practised)
        server.runs_until_status("cancelled", "ours")
        assert server.entries.enter(where["practice"], "mine", caller) == practised
        other = server.entries.enter(where["public"], "mine", caller)
        assert server.store.submission(other).phase == "public"


def test_an_agent_that_never_comes_back_is_not_awaited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farewells, "MARGIN_S", 0.0)
    with hosting(tmp_path, play={"reconnect_window_s": 0.0}) as server:
        submission = server.entries.enter(server.team("ours").token, "mine", Caller("127.0.0.1:1"))
        server.store.ask_cancel(submission)
        server.runs_until_status("cancelled", "ours")
        server.runs_until(lambda: not server.queue._farewells._untold, "nothing is left to tell")


class Unhurried(Seeded):
    """Takes 0.05 s for each step until it is hurried."""

    def __init__(self) -> None:
        super().__init__()
        self.hurried = threading.Event()

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        self.hurried.wait(0.05)
        return super().agent_step(rewards, observations, steps)


def test_a_process_that_is_killed_is_resumed_and_its_agent_with_it(tmp_path: Path) -> None:
    many, before = phase(benchmarks=[corridor(num_episodes=100)]), child_processes()
    slow = Unhurried()
    with hosting(tmp_path, many) as server, joined(server.team("ours"), slow) as agent:
        server.runs_until_status("playing", "ours")
        submission = server.submission("ours")
        server.runs_until(
            lambda: bool(server.submission("ours").progress.get("done")), "it has played some"
        )
        (process,) = child_processes() - before
        os.kill(process, signal.SIGKILL)
        slow.hurried.set()
        server.runs_until_status("finished", "ours")
        server.runs_until(agent.done, "it is told")
        assert agent.result() == "the submission is finished, thank you"
        here = of_folder(server.folder(submission), 1)
        assert here == server.alone(tmp_path / "alone", Seeded(), submission)
        assert len(server.store.runs()) == 1
        kinds = [event.kind for event in server.store.events(limit=1000)]
        assert kinds.count("submission interrupted") == 1
        assert kinds.count("run recorded") == 1


def test_the_news_of_a_submission_end_the_wait_for_the_next_look(tmp_path: Path) -> None:
    """A place that is free is given at once."""
    with hosting(tmp_path) as server, joined(server.team("ours"), Seeded()):
        server.runs_until_status("playing", "ours")
        looks = 0
        while server.submission("ours").status == "playing":
            server.queue.wait(1000.0)  # far longer than a test may take
            server.queue.tick()
            looks += 1
        assert looks < 20  # it listens, its run, its end


def test_what_never_plays_breaks_after_three_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings, "_PAUSES", Backoff(0.1))
    with hosting(tmp_path) as server, joined(server.team("ours"), Seeded()) as agent:
        server.runs_until(lambda: server.store.submissions() != [], "it is entered")
        server.take_folder("ours")
        server.runs_until_status("broken", "ours")
        assert "cannot be made" in server.submission("ours").detail
        server.runs_until(agent.done, "it is told")
        assert "by our own failure" in agent.result()


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (KeyError("nobody knows"), "a failure of the server's own: KeyError: 'nobody knows'"),
        (EnvironmentFault("no server at port 1"), "no server at port 1"),
    ],
)
def test_one_whose_process_cannot_be_told_what_to_play_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, detail: str
) -> None:
    """A mistake in our code, or in an environment, ends that submission alone."""
    monkeypatch.setattr(endings, "_PAUSES", Backoff(0.1))
    settings_of = Hosted.settings_of

    def fail(hosted: Hosted, submission: Submission, **options: Any) -> SubmissionSettings:
        if submission.team == "poisoned":
            raise error
        return settings_of(hosted, submission, **options)

    monkeypatch.setattr(Hosted, "settings_of", fail)
    with hosting(tmp_path) as server, joined(server.team("poisoned"), Seeded()) as agent:
        server.runs_until(lambda: server.store.submissions() != [], "it is entered")
        with joined(server.team("ours"), Seeded()):
            server.runs_until_status("finished", "ours")
        server.runs_until_status("broken", "poisoned")
        server.runs_until(agent.done, "it is told")
    assert server.submission("poisoned").detail == detail


def test_an_agent_that_joins_as_its_submission_breaks_enters_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose run died joins again, at whatever moment: it hears that the submission broke."""
    monkeypatch.setattr(endings, "_PAUSES", Backoff(0.0))
    play = {"reconnect_window_s": PATIENCE_S}
    with hosting(tmp_path, play=play) as server, ExitStack() as agents:
        where, came = server.team("ours"), threading.Event()
        of_store, of_entries = server.store.set_status, server.entries.enter
        submission = of_entries(where.token, "mine", Caller("127.0.0.1:1"))
        server.entries.came(submission)
        server.take_folder("ours")
        told: list[Future[str]] = []

        def enter(*entry: Any) -> str:
            try:
                return of_entries(*entry)
            finally:
                came.set()

        def set_status(of: str, status: Status, *more: Any, **used: Any) -> bool:
            is_changed = of_store(of, status, *more, **used)
            if status == "broken":
                told.append(agents.enter_context(joined(where, Seeded(), name="mine")))
                assert came.wait(PATIENCE_S)
            return is_changed

        monkeypatch.setattr(server.entries, "enter", enter)
        monkeypatch.setattr(server.store, "set_status", set_status)
        server.runs_until(lambda: told != [] and told[0].done(), "it is told")
        assert "by our own failure" in told[0].result()
        assert [each.id for each in server.store.submissions()] == [submission]


def test_news_that_cannot_be_stored_break_one_submission(tmp_path: Path) -> None:
    """A database that refuses a row of one is not a database that is away for all."""
    with hosting(tmp_path) as server:
        poisoned, ours = joined(server.team("poisoned"), Seeded()), server.team("ours")
        with poisoned as agent:
            server.runs_until_status("playing", "poisoned")
            with sqlite3.connect(tmp_path / "competition.sqlite") as database:
                mine = f"NEW.submission_id = '{server.submission('poisoned').id}'"
                refuse = "BEGIN SELECT RAISE(ABORT, 'no such row'); END"
                database.execute(f"CREATE TRIGGER no BEFORE INSERT ON run WHEN {mine} {refuse}")
            with joined(ours, Seeded()):
                server.runs_until_status("finished", "ours")
                server.runs_until_status("broken", "poisoned")
            server.runs_until(agent.done, "it is told")
            assert "by our own failure" in agent.result()
        assert "no such row" in server.submission("poisoned").detail
        assert server.metrics.registry.get_sample_value("reglue_store_failures_total") == 0


def test_a_team_hears_what_the_database_says_of_its_submission(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not that it is finished, where something else has put it back into the queue."""
    with hosting(tmp_path) as server, joined(server.team("ours"), Seeded()) as agent:
        server.runs_until_status("playing", "ours")
        server.store.set_status(server.submission("ours").id, "waiting", "by another")
        server.runs_until(lambda: "is waiting in the database" in caplog.text, "it has ended")
        assert server.submission("ours").status == "waiting"
        assert not agent.done()
        server.runs_until_status("finished", "ours")
        server.runs_until(agent.done, "it is told")
        assert agent.result() == "the submission is finished, thank you"
        kinds = [event.kind for event in server.store.events(limit=1000)]
        assert kinds.count("submission finished") == 1


def test_news_of_no_known_kind_break_a_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosting(tmp_path) as server, joined(server.team("ours"), Pausing()) as agent:
        server.runs_until_status("playing", "ours")
        (playing,) = server.queue._playing()
        server.runs_until(lambda: playing.done != {}, "it has said how far it is")
        monkeypatch.setattr(playing.process, "_codec", TO_SUBMISSION)  # as of another version
        server.runs_until_status("broken", "ours")
        assert "UnknownMessage: got a message" in server.submission("ours").detail
        server.runs_until(agent.done, "it is told")


def test_an_agent_that_was_away_when_its_submission_broke_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It enters no other submission, as it was not told that this one is over."""
    monkeypatch.setattr(endings, "_PAUSES", Backoff(0.1))
    with hosting(tmp_path) as server:
        ours = server.team("ours")
        with joined_process(ours, "Seeded") as agent:
            until(lambda: server.store.submissions() != [], "it is entered")
            submission = server.submission("ours")
            until(lambda: server.entries.is_connected(submission.id), "it waits")
            server.take_folder("ours")
            agent.kill()
            agent.wait()
            server.runs_until_status("broken", "ours")
        with joined(ours, Seeded()) as back:
            server.runs_until(back.done, "it is told")
            assert "by our own failure" in back.result()
        assert len(server.store.submissions()) == 1


def test_an_agent_that_cannot_adapt_has_failed_and_its_program_ends_with_an_error(
    tmp_path: Path,
) -> None:
    """Also where every row of the plan is there: all are its failures."""

    class Frozen(Seeded):
        adapts = False

    wave = {"meta_batch_size": 2, "adaptation_episodes": 1, "num_episodes": None, "slots": None}
    options = {k: v for k, v in (corridor(**wave)["options"]).items() if v is not None}
    options["environment_args"] = {"solved": {"a": [1, 3]}}
    meta = {"benchmark": "meta-learning:tests.worlds:Corridor", "options": options}
    with hosting(tmp_path, phase(benchmarks=[meta])) as server:
        with joined(server.team("ours"), Frozen()) as agent:
            server.runs_until(agent.done, "it is told")
            with raises(Refused, "adapt"):
                agent.result()
        assert server.submission("ours").status == "failed"
        (run,) = server.store.runs()
        assert (run.status, run.owner, run.score) == ("agent_error", "agent", 0.0)

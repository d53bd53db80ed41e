"""The gain of a team's agent from submissions that it breaks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from reglue.errors import EntryRefused, Refused
from reglue.retrying import Backoff
from reglue_competition.runs import endings
from reglue_competition.store import Submission
from tests.cheats.cheat_world import Breakable, Player
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.runs.corridor_submissions import joined
from tests.reglue_competition.runs.hosting import Hosting, hosting
from tests.reglue_competition.runs.test_own_cells import cells, checked, revealed, transcript

BREAKABLE = {
    "benchmark": f"multi-task:{Breakable.__module__}:{Breakable.__qualname__}",
    "options": {"num_episodes": 40, "slots": 2},
}
ONE = {"a_day": 1, "at_once": 1, "in_all": 1}


def test_a_team_that_breaks_its_submissions_sees_no_cell_twice(tmp_path: Path) -> None:
    """Its agent wears a table out, so that an episode cannot be repeated; its quota is one."""
    private = phase(kind="private", benchmarks=[BREAKABLE], quotas=ONE)
    with hosting(tmp_path, private) as server:
        where, cheat = server.team("cheat"), Player(0, "wears")
        played: list[tuple[Submission, str]] = []
        for number in range(3):
            with joined(where, cheat, f"try {number}"):
                server.runs_until(partial(is_broken, server, f"try {number}"), "it broke")
                server.runs_until(lambda: server.queue.is_idle, "its agent is told")
            submission = server.submission("cheat", f"try {number}")
            played.append((submission, cells(server, submission)))
        assert [each.draw for each, _ in played] == [0, 1, 1]
        assert len({key for _, key in played}) == 3
        assert cheat.met_again == 0
        assert len(cheat._gains) < 3 * 20, "it was shown no more cells once one had failed"
        with joined(where, cheat) as refused:
            server.runs_until(refused.done, "it is refused")
        with pytest.raises(Refused, match="broken in phase public"):
            refused.result()
        server.store.ask_replay(played[0][0].id)
        cheat._how = ""
        with joined(where, cheat, "try 0"):
            name = "try 0"
            server.runs_until(lambda: server.submission("cheat", name).status == "finished", name)
        again = server.submission("cheat", "try 0")
        assert (again.draw, again.broken, cheat.met_again) == (1, 2, 0)
        assert checked(transcript(server, again), revealed(server, tmp_path)).stands


def test_the_count_of_failed_processes_outlives_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings, "_PAUSES", Backoff(1e-6, factor=1e12))
    with hosting(tmp_path) as server:
        server.team("ours")
        entered = server.enter("ours")
        server.take_folder("ours")
        server.entries.came(entered.id)
        server.runs_until(lambda: server.submission("ours").interrupted == 2, "it failed twice")
    with hosting(tmp_path) as server:
        server.entries.came(entered.id)
        server.runs_until_status("broken", "ours")


def test_a_submission_that_waits_while_another_breaks_gets_cells_of_its_own(
    tmp_path: Path,
) -> None:
    with hosting(tmp_path) as server:
        server.team("ours")
        first, second = server.enter("ours", "first"), server.enter("ours", "second")
        server.store.set_status(first.id, "playing")
        assert second.draw == 0
        server.store.set_status(first.id, "broken", "it cannot be repeated")
        assert server.submission("ours", "second").draw == 1
        assert server.enter("ours", "third").draw == 1
        assert (server.team("others"), server.enter("others").draw)[1] == 0


def test_three_that_broke_need_the_organisers_word(tmp_path: Path) -> None:
    with hosting(tmp_path) as server:
        server.team("ours")
        for number in range(3):
            server.store.set_status(server.enter("ours", str(number)).id, "broken")
        with pytest.raises(EntryRefused, match="wanted fewer than 3"):
            server.enter("ours", "fourth")
        server.store.ask_replay(server.submission("ours", "0").id)
        server.enter("ours", "fourth")


def is_broken(server: Hosting, name: str) -> bool:
    found = server.store.submissions(team="cheat")
    return any(each.status == "broken" for each in found if each.name == name)

"""A submission's image plays once more, and what differs is told."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_competition.runs.images.repeated_play import difference, play_again
from reglue_competition.store import Submission
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.runs.corridor_submissions import joined
from tests.reglue_competition.runs.hosting import Hosting, corridor, hosting
from tests.reglue_competition.scripted_engine import ScriptedEngine

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]

IMAGE = f"sha256:{64 * '1'}"
BOTH = phase(agents="both", benchmarks=[corridor(), corridor(num_episodes=3)])


def repeated(server: Hosting, submission: Submission, folder: Path) -> str:
    """The difference."""
    folder.mkdir()
    seen: list[tuple[int, int]] = []
    play_again(server.hosted, submission, folder, lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    return difference(submission, server.hosted.folder.transcripts_path, folder, 2)


def test_it_is_the_same_or_the_first_difference_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ScriptedEngine(tmp_path / "engine")
    monkeypatch.setenv("PATH", engine.path)
    with hosting(tmp_path, BOTH) as server:
        team = server.store.add_team("us")
        entered = server.store.enter(team, "first", datetime.now(UTC), image=IMAGE)
        server.runs_until_status("finished", "us")
        played, runs = server.submission("us"), server.store.runs(entered.id)
        archive = server.hosted.folder.image_file(IMAGE)
        with raises(UsageError, "its image is not here any more"):
            play_again(server.hosted, played, tmp_path / "none", lambda *_: None)
        archive.parent.mkdir()
        archive.touch()
        assert repeated(server, played, tmp_path / "same") == ""
        engine.image_is("Unseeded")
        found = repeated(server, played, tmp_path / "other")
        assert found.startswith("benchmark 1: episode ")
        assert found.endswith("its actions differ")
        assert (server.submission("us"), server.store.runs(entered.id)) == (played, runs)


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("Raises", "agent_error: KeyError: 'coffee'"),
        ("NoSuchAgent", "agent_disconnected: the agent's process left with exit code 2 before it"),
    ],
)
def test_an_image_that_fails_its_rehearsal_costs_no_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, why: str
) -> None:
    engine = ScriptedEngine(tmp_path / "engine")
    engine.image_is(agent)
    monkeypatch.setenv("PATH", engine.path)
    quotas = {"in_all": 1}
    with hosting(tmp_path, BOTH | {"quotas": quotas}) as server:
        team = server.store.add_team("us")
        entered = server.store.enter(team, "first", datetime.now(UTC), image=IMAGE)
        server.runs_until_status("withdrawn", "us")
        told = server.submission("us").detail
        assert told.startswith(f"its agent failed in the rehearsal: {why}")
        assert not (server.folder(entered) / "0").exists()
        engine.image_is("Seeded")
        server.store.enter(team, "second", datetime.now(UTC), image=IMAGE)
        server.runs_until_status("finished", "us")


def test_an_agent_that_connects_cannot_be_repeated(tmp_path: Path) -> None:
    with hosting(tmp_path, BOTH) as server:
        with joined(server.team("us"), Seeded()):
            server.runs_until_status("finished", "us")
        with raises(UsageError, "has no image: its agent connects by itself"):
            play_again(server.hosted, server.submission("us"), tmp_path, lambda *_: None)

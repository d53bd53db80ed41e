"""Agents whose container engine goes away or lacks something: nobody's agent is to blame.

The engine is played by a script that starts the agent here; tests/docker has a real one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from reglue_bench.results.scoring import read_run
from reglue_competition.images import GIB, keep_archive
from reglue_competition.runs import queue
from reglue_competition.runs.submission import run_folder
from reglue_competition.store import Submission
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.bakeoffs import wait_for_rows
from tests.reglue_competition.competitions import phase
from tests.reglue_competition.images.test_image import tar
from tests.reglue_competition.runs.corridor_submissions import joined, of_folder
from tests.reglue_competition.runs.hosting import Hosting, corridor, hosting
from tests.reglue_competition.scripted_engine import ScriptedEngine
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cleared")]

IMAGE = f"sha256:{64 * '1'}"
BOTH = phase(agents="both", benchmarks=[corridor(num_episodes=8)])


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """The one that is found."""
    made = ScriptedEngine(tmp_path / "engine")
    made.image_is("Pausing")
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.setattr(queue, "_ENGINE_S", 0.3)
    return made


def hand_in(server: Hosting, team: str) -> Submission:
    """A new team's image."""
    return server.store.enter(server.store.add_team(team), team, datetime.now(UTC), image=IMAGE)


def test_an_image_waits_for_an_engine_that_is_away_and_others_play(
    tmp_path: Path, engine: ScriptedEngine
) -> None:
    engine.go()
    with hosting(tmp_path, BOTH, play={"places": 1}) as server:
        image = hand_in(server, "image")
        server.runs_until(lambda: server.submission("image").detail != "", "it is tried")
        with joined(server.team("remote"), Seeded()):
            server.runs_until_status("finished", "remote")
        server.runs_until_status("waiting", "image")
        waiting = server.submission("image")
        assert waiting.interrupted == 0
        assert waiting.detail == "its image waits: docker does not work here: nobody serves"
        engine.come()
        server.runs_until_status("finished", "image")
        here = of_folder(server.folder(image), 1)
        assert here == server.alone(tmp_path / "alone", Seeded(), image)


def test_a_lost_container_is_not_its_agents_fault(tmp_path: Path, engine: ScriptedEngine) -> None:
    with hosting(tmp_path, BOTH, play={"places": 1}) as server:
        image = hand_in(server, "image")
        server.runs_until(lambda: server.submission("image").status == "playing", "it plays")
        wait_for_rows(server.folder(image) / "0", 1)
        engine.go()
        engine.lose()
        server.runs_until(lambda: server.submission("image").interrupted > 0, "it is interrupted")
        server.runs_until(lambda: not server.queue.is_idle, "it is tried again")
        server.runs_until(lambda: server.queue.is_idle, "it is not started")
        assert server.submission("image").status == "playing"
        engine.come()
        server.runs_until_status("finished", "image")
        assert server.submission("image").interrupted == 1
        played = [*read_run(run_folder(server.folder(image), 0)).episodes]
        assert {row.status for row in played} == {"ok"}
        assert len({(row.task, row.variant, row.repeat) for row in played}) == len(played) == 16


PROJECT = {"reglue.txt": b"agent.py:MyAgent", "agent.py": b""}


def hand_in_project(server: Hosting, folder: Path) -> Submission:
    """A new team's agent in Python."""
    (folder / "project.tar").write_bytes(tar(PROJECT))
    digest = keep_archive(
        folder / "project.tar",
        server.hosted.folder.images_path,
        most_bytes=GIB,
        most_in_all=GIB,
        takes_projects=True,
    )
    return server.store.enter(server.store.add_team("A"), "a", datetime.now(UTC), image=digest)


def test_a_project_is_mounted_and_joins_by_the_organisers_image(
    tmp_path: Path, engine: ScriptedEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    with hosting(tmp_path, BOTH, images={"python": "python:3"}) as server:
        submission = hand_in_project(server, tmp_path)
        server.runs_until_status("finished", "A")
        project = server.folder(submission) / "project"
        until(lambda: not project.exists(), "what was unpacked is removed")
    assert f"--volume={project}:{project}:ro" in engine.created
    at = engine.created.index("--entrypoint=python3")
    joins = [engine.digest, "-P", "-m", "reglue", "join", "agent.py:MyAgent"]
    assert engine.created[at + 1 :] == joins
    assert f"its project plays in python:3, {engine.digest} (team=A" in capfd.readouterr().err


def test_an_engine_without_the_organisers_image_breaks_a_project_which_is_replayed(
    tmp_path: Path, engine: ScriptedEngine
) -> None:
    engine.forget()
    with hosting(tmp_path, BOTH, images={"python": "python:3"}) as server:
        submission = hand_in_project(server, tmp_path)
        server.runs_until_status("broken", "A")
        wanted = "images.python: got python:3, wanted an image that the engine has"
        assert server.submission("A").detail == wanted
        engine.pull()
        server.store.ask_replay(submission.id)
        server.runs_until_status("finished", "A")

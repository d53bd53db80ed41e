"""The commands by which an organiser opens, closes and publishes phases, and decides appeals."""

from __future__ import annotations

import importlib
import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from reglue_competition import videos
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.definition import FILE
from reglue_competition.phases import check_reveal, reveal_file
from reglue_competition.store import FINAL, Store
from tests.reglue_bench.replay.replay_recordings import altered
from tests.reglue_competition.cli.conftest import Say
from tests.reglue_competition.page.competition_builder import Made, begin, enter
from tests.reglue_competition.page.played_submissions import CART_POLE, enter_played, hidden, hosts


@pytest.fixture
def public(folder: Path) -> Path:
    """The competition's file, with one public phase of a few short episodes."""
    file = folder / "competition.toml"
    text = file.read_text().partition('[[phases]]\nname = "public"')[0]
    text = text.replace('kind = "practice"', 'kind = "public"\nneeds_admission = true')
    text = text.replace("mountain-car", "cart-pole")
    file.write_text(text.replace("num_episodes = 10", "num_episodes = 2"))
    return file


def test_a_team_is_allowed_more(folder: Path, say: Say) -> None:
    words = ("competition", "allow", str(folder), "public", "Team A")
    assert say("competition", "team", "add", str(folder), "Team A").returncode == 0
    done = say(*words, "2", "--why", "our disk was full")
    told = "Team A may enter 2 more into phase public than its quotas say\n"
    assert (done.returncode, done.stdout) == (0, told)
    for wrong, says in (
        ((*words, "2"), "--why"),
        ((*words, "two", "--why", "x"), "NUMBER"),
        ((*words, "2", "--why", " "), "no reason"),
        ((*words[:-1], "Nobody", "2", "--why", "x"), "there is no team 'Nobody'"),
        ((*words[:3], "none", "Team A", "2", "--why", "x"), "there is no phase 'none'"),
    ):
        done = say(*wrong)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_environments_of_reglues_need_admission_where_they_have_bars(
    folder: Path, say: Say, public: Path
) -> None:
    words = ("competition", "open", str(folder), "practice")
    text = public.read_text().replace("needs_admission = true\n", "")
    public.write_text(text.replace("options = {", "admit = { random_below = 1 }, options = {"))
    assert say(*words).returncode == 2
    public.write_text(text)
    assert say(*words).returncode == 0


def test_a_phase_opens_with_exactly_what_was_admitted(folder: Path, say: Say, public: Path) -> None:
    words = ("competition", "open", str(folder), "practice")
    done = say(*words)
    assert (done.returncode, "it was not admitted" in done.stderr) == (2, True)
    assert f"`reglue competition admit {folder} practice`" in done.stderr.replace("\n", " ")
    assert say("competition", "admit", str(folder)).returncode == 0
    text = public.read_text()
    for changed in (
        text.replace("num_episodes = 2", "num_episodes = 3"),
        text.replace("options = { num", "admit = { random_below = 1 }, options = { num"),
    ):
        assert changed != text
        public.write_text(changed)
        done = say(*words)
        assert (done.returncode, "have changed since they were checked" in done.stderr) == (2, True)
    public.write_text(text)
    assert say(*words).returncode == 0


def test_a_phase_may_be_opened_that_is_not_admitted_and_the_log_says_so(
    folder: Path, say: Say, public: Path
) -> None:
    words = ("competition", "open", str(folder))
    assert say(*words, "practice", "--not-admitted").returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        kinds = [event.kind for event in store.events()]
    assert kinds.count("admission waived") == 1


def test_a_close_by_mistake_is_undone(folder: Path, say: Say) -> None:
    for then in ("open", "close", "reopen"):
        done = say("competition", then, str(folder), "practice")
        assert done.returncode == 0, done.stderr
    with CompetitionFolder.read(folder).store() as store:
        assert store.phases()[0].state == "open"


@pytest.mark.parametrize(("answer", "state"), [("n", "open"), ("y", "closed")])
def test_a_close_in_a_terminal_is_asked_for(
    folder: Path, say: Say, answer: str, state: str
) -> None:
    assert say("competition", "open", str(folder), "practice").returncode == 0
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        words = [sys.executable, "-m", "reglue", "competition", "close", str(folder), "practice"]
        done = subprocess.run(
            words, stdin=theirs, capture_output=True, text=True, check=False, timeout=60
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "close phase practice" in done.stdout + done.stderr
    assert done.returncode == (0 if state == "closed" else 1)
    with CompetitionFolder.read(folder).store() as store:
        assert store.phases()[0].state == state


def test_a_phase_is_revealed_once_it_is_closed(folder: Path, say: Say, tmp_path: Path) -> None:
    """The page publishes it, or it is written where the organiser says."""
    out, other = reveal_file(folder, "practice"), tmp_path / "reveal.json"
    words = ("competition", "reveal", str(folder), "practice")
    for then in ("open", "close"):
        assert say(*words).returncode == 2
        assert say("competition", then, str(folder), "practice").returncode == 0
    assert not out.exists()
    assert say(*words).returncode == 0
    assert say(*words, str(other)).returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        published = store.phases()[0].plan_commitment
    assert published is not None
    assert check_reveal(out, published).phase == "practice"
    assert other.read_bytes() == out.read_bytes()


def test_a_plan_that_is_not_what_was_committed_to_is_not_revealed(
    folder: Path, say: Say, tmp_path: Path
) -> None:
    for then in ("open", "close"):
        say("competition", then, str(folder), "practice")
    file = folder / "competition.toml"
    file.write_text(file.read_text().replace("num_episodes = 10", "num_episodes = 11"))
    done = say("competition", "reveal", str(folder), "practice", str(tmp_path / "reveal.json"))
    assert (done.returncode, "not the one that was committed to" in done.stderr) == (2, True)
    assert not (tmp_path / "reveal.json").exists()


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A competition whose first benchmark draws, and the second does not."""
    of = hosts(CART_POLE, hidden())
    found = begin(tmp_path, of)
    file = tomli_w.dumps(of.model_dump(exclude_none=True))
    (tmp_path / FILE).write_text(file, encoding="utf-8")
    return found


def test_videos_are_refused_while_somebody_may_still_play(made: Made, say: Say) -> None:
    with Store(made.url) as store:
        submission = enter(store, made, "Ada", "waits")
        done = say("competition", "videos", str(made.folder), "warm-up")
        assert (done.returncode, "warm-up is open" in done.stderr) == (2, True)
        store.close_phase("warm-up")
        done = say("competition", "videos", str(made.folder), "warm-up")
        assert (done.returncode, "1 submissions of phase" in done.stderr) == (2, True)
        store.set_status(submission.id, "cancelled")
        done = say("competition", "videos", str(made.folder), "warm-up")
        assert (done.returncode, "0 of 0 videos" in done.stdout) == (0, True)


def test_each_submission_has_a_video_where_its_environment_draws(made: Made, say: Say) -> None:
    with Store(made.url) as store:
        ids = [enter_played(store, made, team, (CART_POLE, hidden())).id for team in ("Ada", "Eve")]
        store.close_phase("warm-up")
    words = ("competition", "videos", str(made.folder), "warm-up", "--episodes", "2")
    done = say(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("benchmark 2 has no pictures") == 1
    assert "2 of 4 videos" in done.stdout
    assert "page.replays is false" in done.stdout
    first, second = (made.folder / "replays" / f"{each}-0.mp4" for each in ids)
    assert frames(first) > 2 * 8  # steps of two falling poles, and pauses
    second.unlink()
    before = first.stat().st_mtime_ns
    assert say(*words).returncode == 0
    assert first.stat().st_mtime_ns == before
    assert second.exists()
    assert not list((made.folder / "replays").glob("*.tmp"))


def test_what_is_not_replayed_to_the_bit_has_no_video(made: Made, say: Say) -> None:
    with Store(made.url) as store:
        submission = enter_played(store, made, "Ada", (CART_POLE,))
        store.close_phase("warm-up")
    run = made.folder / "runs" / submission.id / "0"
    altered(run, **{"return": 77.5})
    done = say("competition", "videos", str(made.folder), "warm-up")
    assert done.returncode == 1
    assert f"{submission.id}-0.mp4: Ada, Ada plays, benchmark 1: not replayed" in done.stdout
    assert not list((made.folder / "replays").iterdir())


def test_a_submission_that_was_played_again_has_a_new_video(made: Made, say: Say) -> None:
    with Store(made.url) as store:
        submission = enter_played(store, made, "Ada", (CART_POLE,))
        store.close_phase("warm-up")
        words = ("competition", "videos", str(made.folder), "warm-up", "--episodes", "1")
        assert say(*words).returncode == 0
        video = made.folder / "replays" / f"{submission.id}-0.mp4"
        video.write_bytes(b"of the play before")
        store.set_status(submission.id, "waiting", from_statuses=FINAL)
        store.set_status(submission.id, "finished")
    assert "1 of 1 videos" in say(*words).stdout
    assert frames(video) > 8


def test_an_episode_without_end_does_not_take_a_disk(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(videos, "_MOST_PICTURES", 3)
    with Store(made.url) as store:
        enter_played(store, made, "Ada", (CART_POLE,))
        store.close_phase("warm-up")
        (clip,) = videos.clips(CompetitionFolder.read(made.folder), store, "warm-up")
    assert not [*videos.write_videos([clip], episodes=1, fps=10, watcher=lambda *_: None)]
    assert frames(clip.path) == 3 + 7  # and the pause on the last


def test_a_picture_of_another_size_is_put_into_the_frame() -> None:
    white = np.full((20, 10, 3), 255, np.uint8)
    found = videos._fit(white, (10, 30, 3))
    assert found.shape == (10, 30, 3)
    assert found[:, 12:17].min() == 255
    assert not found[:, :12].any()


def frames(path: Path) -> int:
    """Of a video."""
    av: Any = importlib.import_module("av")
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_an_appeal_is_shown_until_it_is_answered(folder: Path, say: Say) -> None:
    say("competition", "open", str(folder), "practice")
    with CompetitionFolder.read(folder).store() as store:
        team = store.add_team("Ada")
        submission = store.enter(team, "x", datetime.now(UTC))
        store.set_status(submission.id, "failed")
        store.file_appeal(team, submission.id, "unfair\nand wrong")
        (appeal,) = store.appeals()
    shown = say("competition", "appeals", str(folder)).stdout
    assert f"{appeal.id}: Ada, {submission.id}" in shown
    assert "    unfair\n    and wrong\n" in shown
    words = ("competition", "answer", str(folder), str(appeal.id), "it was fair")
    assert say(*words).returncode == 0
    assert "no appeal waits" in say("competition", "appeals", str(folder)).stdout
    assert "    it was fair\n" in say("competition", "appeals", str(folder), "--all").stdout
    told = json.loads(say("competition", "appeals", str(folder), "--all", "--json").stdout)
    assert [each["answer"] for each in told] == ["it was fair"]
    again = say(*words)
    assert (again.returncode, "answered already" in again.stderr) == (2, True)


def test_a_backup_is_noted(folder: Path, say: Say, tmp_path: Path) -> None:
    assert say("competition", "backup", str(folder), str(tmp_path / "x.tar.gz")).returncode == 0
    with CompetitionFolder.read(folder).store() as store:
        assert store.newest_event("backed up") is not None
        assert store.newest_event("nothing") is None

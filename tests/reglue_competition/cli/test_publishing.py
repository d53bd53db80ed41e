"""`reglue competition videos`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
import tomli_w

from reglue_bench.runs.ledger import tables
from reglue_competition import videos
from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.definition import FILE
from reglue_competition.store import FINAL, Store
from tests.reglue_bench.replay.recordings import altered
from tests.reglue_competition.cli.conftest import Say
from tests.reglue_competition.page.made_competition import Made, begin, enter
from tests.reglue_competition.page.played import CART_POLE, enter_played, hidden, hosts


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
    done = say("competition", "videos", str(made.folder), "nothing")
    assert (done.returncode, "wanted one of warm-up" in done.stderr) == (2, True)


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
    altered(run, sa.update(tables.outcomes).values({"return": 77.5}))
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
    found = videos._fitted(white, (10, 30, 3))
    assert found.shape == (10, 30, 3)
    assert found[:, 12:17].min() == 255
    assert not found[:, :12].any()


def frames(path: Path) -> int:
    """Of a video."""
    av: Any = importlib.import_module("av")
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))

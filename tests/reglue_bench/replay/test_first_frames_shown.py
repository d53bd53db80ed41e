"""First frames in the report: of whom, and of whom not."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio.v3 import imread

from env_adapters import SuiteName
from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.replay import read_episode
from reglue_bench.report.frames import first_frames
from tests.error_facts import raises
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.replay.replay_recordings import with_suite

ARCADE = "gymnasium:Reglue/Arcade-v0"


def run(folder: Path, benchmark: str, **options: Any) -> Path:
    evaluate(benchmark, agent="random", out=folder / "run", workers=0, **options)
    return folder / "run"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two episodes of pong."""
    folder = tmp_path_factory.mktemp("pong")
    return run(folder, f"online:{ARCADE}", runs=1, episodes=2, episode_limit=5)


@pytest.fixture
def copy(played: Path, tmp_path: Path) -> Path:
    """That run, for a test that changes it."""
    return shutil.copytree(played, tmp_path / "run")


def test_the_first_run_s_episodes_begin_as_they_were_played(tmp_path: Path) -> None:
    folder = run(tmp_path, f"online:{ARCADE}", runs=2, episodes=3, episode_limit=5)
    frames = first_frames(folder)
    assert [frame.caption for frame in frames] == ["episode 0", "episode 1", "episode 2"]
    for place, frame in enumerate(frames):
        recorded = read_episode(folder, place)
        world = recorded.suite.build().world()
        seen = world.start(recorded.order.cell)["observation"]
        data = base64.b64decode(frame.uri.removeprefix("data:image/png;base64,"))
        assert np.array_equal(imread(data, extension=".png"), seen)
        world.close()


def test_each_variant_of_each_task_is_shown_once_and_24_at_most(tmp_path: Path) -> None:
    file = tmp_path / "games.toml"
    file.write_text(
        'procedure = "multi-task"\nnum_episodes = 1\nhorizon = 2\n'
        + "".join(
            f'[tasks.t{place:02}]\nenvironment = "{ARCADE}"\n'
            'environment_args = { config = "maze" }\n'
            for place in range(26)
        )
    )
    frames = first_frames(run(tmp_path, str(file)))
    assert [frame.caption for frame in frames] == [f"t{place:02}, variant 0" for place in range(24)]


def test_the_page_shows_them_without_the_network(say: Say, copy: Path, tmp_path: Path) -> None:
    assert say("report", copy).returncode == 0
    page = (copy / "report.html").read_text(encoding="utf-8")
    picture = r'<img src="data:image/png;base64,[\w+/=]+" alt="episode \d">'
    assert len(re.findall(picture, page)) == 2
    numbers = run(tmp_path / "numbers", "online:mountain-car", runs=1, episodes=1, episode_limit=5)
    assert say("report", numbers).returncode == 0
    assert "<figure>" not in (numbers / "report.html").read_text(encoding="utf-8")


def test_no_file_is_executed_and_no_run_is_needed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\n"
        "from env_adapters.gymnasium import Gymnasium\n"
        "class Mine(Gymnasium):\n"
        "    def __init__(self):\n"
        "        super().__init__('Reglue/Arcade-v0')\n"
        "        with Path(__file__).with_name('times').open('a') as file:\n"
        "            file.write('x')\n"
    )
    mine = f"online:{tmp_path / 'mine.py'}:Mine"
    folder = run(tmp_path, mine, runs=1, episodes=1, episode_limit=5)
    before = (tmp_path / "times").read_text()
    assert not first_frames(folder)
    assert (tmp_path / "times").read_text() == before
    assert not first_frames(tmp_path)


@pytest.mark.parametrize(
    "called",
    [
        SuiteName("os:mkdir", {}),
        SuiteName("env_adapters.mujoco:import_module", {"name": "made"}),
        SuiteName("env_adapters.curricula.suite:Schedule", {"schedule": [["os:mkdir", 1]]}),
        SuiteName(
            "env_adapters.composed:Composed",
            {"suites": [{"factory": "os:mkdir", "config": {}}], "tasks": {}},
        ),
        SuiteName("env_adapters.gymnasium:Gymnasium", {"id": "made:Made-v0"}),
    ],
)
def test_nothing_that_only_the_run_names_is_called(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: SuiteName
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "made.py").write_text("from pathlib import Path; Path('made').touch()\n")
    config = {"path": "made"} if called.factory == "os:mkdir" else called.config
    with_suite(copy, SuiteName(called.factory, config))
    assert not first_frames(copy)
    assert not (tmp_path / "made").exists()


def test_an_environment_that_fails_here_is_left_out(copy: Path) -> None:
    with_suite(copy, SuiteName("env_adapters.metaworld:MetaWorld", {"goals": 3}))
    assert not first_frames(copy)


def test_environments_draw_where_they_are_asked_to(tmp_path: Path) -> None:
    folder = run(tmp_path, "multi-task:acrobot", num_episodes=2)
    assert not first_frames(folder)
    frames = first_frames(folder, draws=True)
    assert [frame.caption for frame in frames] == ["Acrobot-v1, variant 0"]
    data = base64.b64decode(frames[0].uri.removeprefix("data:image/png;base64,"))
    picture = imread(data, extension=".png")
    assert picture.shape == (168, 168, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3


@pytest.mark.images
def test_the_page_shows_what_mujoco_draws(tmp_path: Path) -> None:
    folder = run(tmp_path, "MT1:reach-v3", num_episodes=2)
    command = [sys.executable, "-m", "reglue", "report", str(folder)]
    asked = [*command, "--pictures"]
    drawn = {**os.environ, "MUJOCO_GL": "osmesa"}
    subprocess.run(asked, env=drawn, check=True, timeout=120, capture_output=True)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('alt="reach-v3, variant ') == 2
    subprocess.run(command, env=drawn, check=True, timeout=120, capture_output=True)
    assert "<figure>" not in (folder / "report.html").read_text(encoding="utf-8")


def test_who_wants_pictures_is_told_why_there_are_none(tmp_path: Path) -> None:
    folder = run(tmp_path, "online:mountain-car", runs=1, episodes=1, episode_limit=5)
    with raises(UsageError, "online:mountain-car", "pictures"):
        first_frames(folder, draws=True)

"""Episodes as pictures: videos, and what a terminal shows."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import gymnasium
import numpy as np
import pytest
from rich.console import Console

from env_adapters import Cell, SuiteName
from env_adapters.mujoco import drawing_without_display
from reglue.environments.world import Rendered
from reglue.messages.agent_messages import Phase
from reglue_bench.replay import Camera, Replay, read_episode, with_pictures
from reglue_bench.replay.pictures import enlarged, shrunk, with_even_sizes
from reglue_bench.replay.screen import Screen, half_blocks
from reglue_bench.run_folder import LEDGER
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.replay.replay_recordings import ARCADE, PONG, Watch, altered
from tests.reglue_bench.toys import online_plan, play


def test_a_video_has_a_frame_for_the_start_and_each_step(
    tmp_path: Path, watch: Watch, arcade: Path
) -> None:
    file = tmp_path / "new" / "pong.mp4"
    code, out, err = watch(arcade, "--episode", 1, "--video", file, "--fps", 12.5)
    assert code == 0, err
    assert "replayed exactly" in out
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.average_rate) == ("h264", Fraction(25, 2))
        assert stream.codec_context.pix_fmt == "yuv420p"
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
    recorded = read_episode(arcade, 1)
    assert len(frames) == recorded.row.steps + 1
    replay = Replay(recorded, recorded.suite.build())
    camera = Camera(replay.spec, replay.world)
    for moment, frame in zip(replay.moments(), frames, strict=True):
        picture = camera.take(moment.observation)
        assert picture is not None
        wanted = with_even_sizes(enlarged(picture, 480, 480)).astype(int)
        assert frame.shape == (420, 420, 3)
        assert np.abs(frame - wanted).mean() < 4  # colours lose a little


def test_no_video_is_left_of_an_episode_that_differs(
    tmp_path: Path, watch: Watch, arcade: Path
) -> None:
    (copy := tmp_path / "run").mkdir()
    (copy / LEDGER).write_bytes((arcade / LEDGER).read_bytes())
    altered(copy, **{"return": 1234.5})
    code, _, err = watch(copy, "--episode", 0, "--video", tmp_path / "x.mp4")
    assert code == 1, err
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_all_episodes_have_a_video_each_and_those_that_are_there_stay(
    tmp_path: Path, watch: Watch, arcade: Path
) -> None:
    videos = tmp_path / "videos"
    code, out, err = watch(arcade, "--all", "--out", videos)
    assert code == 0, err
    assert "6 of 6 episodes are in" in out
    made = sorted(videos.iterdir())
    assert [each.name[:4] for each in made] == ["0-0-", "0-1-", "0-2-", "1-0-", "1-1-", "1-2-"]
    with av.open(str(made[4])) as container:
        frames = sum(1 for _ in container.decode(container.streams.video[0]))
    assert frames == read_episode(arcade, 1, 1).row.steps + 1
    made[2].unlink()
    made[3].write_bytes(b"mine")
    assert watch(arcade, "--all", "--out", videos)[0] == 0
    assert made[2].stat().st_size > 100
    assert made[3].read_bytes() == b"mine"


def test_of_all_episodes_those_that_differ_are_named(
    tmp_path: Path, watch: Watch, arcade: Path
) -> None:
    (copy := tmp_path / "run").mkdir()
    (copy / LEDGER).write_bytes((arcade / LEDGER).read_bytes())
    altered(copy, **{"return": 1234.5})
    code, out, _ = watch(copy, "--all", "--out", tmp_path / "videos")
    assert code == 1
    assert out.count("1234.5") == 6
    assert "0 of 6 episodes are in" in out
    assert not list((tmp_path / "videos").iterdir())


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, ("egl", "osmesa")),
        ({"DISPLAY": ":0"}, (None,)),
        ({"MUJOCO_GL": "glfw"}, ("glfw",)),
    ],
)
def test_without_a_display_a_library_is_found_that_draws(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], wanted: tuple[str | None, ...]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    before = {**os.environ}
    with drawing_without_display():
        assert os.environ.get("MUJOCO_GL") in wanted
    assert {**os.environ} == before


@pytest.mark.images
def test_metaworld_draws_where_nobody_named_a_library(tmp_path: Path, reach: Path) -> None:
    """In a process of its own: MuJoCo chooses once."""
    unset = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    words = ["watch", reach, "--episode", "0", "--video", tmp_path / "reach.mp4"]
    subprocess.run(
        [sys.executable, "-m", "reglue", *map(str, words)], env=environment, timeout=240, check=True
    )
    assert (tmp_path / "reach.mp4").stat().st_size > 1000


def test_numbers_make_no_video(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    code, _, err = watch(tmp_path / "run", "--episode", 0, "--video", tmp_path / "x.mp4")
    assert code == 2
    assert "has no pictures" in err
    assert not list(tmp_path.glob("x*"))


@pytest.mark.parametrize(
    "suite",
    [
        ARCADE,
        SuiteName(
            "env_adapters.curricula.suite:Schedule", {"schedule": [[f"gymnasium:{PONG}", 2]]}
        ),
        SuiteName(
            "env_adapters.composed:Composed",
            {
                "suites": [{"factory": ARCADE.factory, "config": ARCADE.config}],
                "tasks": {"pong": {"suite": 0, "task": PONG, "variants": [0]}},
            },
        ),
        SuiteName("tests.reglue_bench.replay.watched:Drawn", {}),
    ],
    ids=lambda suite: suite.factory.rpartition(":")[2],
)
def test_environments_are_made_so_that_they_draw(suite: SuiteName) -> None:
    for made, draws in ((suite.build(), False), (with_pictures(suite), True)):
        assert made.spec == suite.build().spec
        world = made.world()
        seen = world.start(Cell(next(iter(made.variants)), 0, 1, 0, Phase.TRAIN))
        assert isinstance(world, Rendered)
        picture = world.render()
        assert (picture is not None) == draws
        if picture is not None:
            assert np.array_equal(picture, seen["observation"])
        world.close()


def test_one_that_takes_no_render_mode_is_made_as_it_is() -> None:
    name = "ReglueTests/Undrawn-v0"
    gymnasium.register(name, "tests.reglue_bench.replay.watched:Undrawn")
    try:
        suite = SuiteName(ARCADE.factory, {"id": name})
        world = with_pictures(suite).world()
        seen = world.start(Cell(name, 0, 1, 0, Phase.TRAIN))
        assert Camera(suite.build().spec, world).take(seen) is None
    finally:
        del gymnasium.registry[name]


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """The command's output on a terminal of 100 × 40."""
    ours, theirs = pty.openpty()
    code = "from reglue_bench.cli.watch import main; main()"
    size = {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder), *words],
        stdout=theirs,
        env={**os.environ, **size, **environment},
    )
    os.close(theirs)
    said = b"".join(_read(ours))
    os.close(ours)
    assert process.wait(60) == 0
    return said.decode()


def _read(descriptor: int) -> Iterator[bytes]:
    try:
        while data := os.read(descriptor, 65536):
            yield data
    except OSError:  # Linux's end of a terminal
        return


def test_a_terminal_shows_pictures_and_numbers(arcade: Path) -> None:
    said = on_a_terminal(arcade, "--episode", "0", "--fps", "1000")
    steps = read_episode(arcade, 0).row.steps
    assert said.count("▀") > steps
    assert f"{steps} of {steps}" in said
    assert "replayed exactly" in said


def test_a_terminal_without_pictures_says_why_and_shows_lines(reach: Path) -> None:
    said = on_a_terminal(reach, "--episode", "1", MUJOCO_GL="glfw", DISPLAY="", WAYLAND_DISPLAY="")
    assert "no pictures: MuJoCo cannot draw" in said
    assert "libegl1" in said
    assert "▀" not in said
    assert "replayed exactly" in said


@pytest.mark.images
def test_metaworld_is_drawn_and_its_bits_do_not_change(reach: Path) -> None:
    said = on_a_terminal(reach, "--episode", "1", "--fps", "1000", MUJOCO_GL="osmesa")
    assert said.count("▀") > 20
    assert "replayed exactly" in said


def test_half_blocks_are_two_pixels_each() -> None:
    picture = np.zeros((3, 2, 3), np.uint8)
    picture[0], picture[1] = (255, 0, 0), (0, 255, 0)
    text = half_blocks(picture, 2, 2)
    assert text.plain == "▀▀\n▀▀"
    style = text.spans[0].style
    assert str(style) == "#ff0000 on #00ff00"


def test_pictures_are_made_to_fit() -> None:
    picture = np.arange(7 * 5 * 3, dtype=np.uint8).reshape(7, 5, 3)
    assert enlarged(picture, 20, 20).shape == (14, 10, 3)
    assert enlarged(picture, 2, 2) is not None
    assert with_even_sizes(picture).shape == (8, 6, 3)
    small = shrunk(picture, 4, 4)
    assert small.shape == (4, 2, 3)
    assert small[0, 0].tolist() == picture[:1, :2].mean((0, 1)).astype(int).tolist()
    assert shrunk(picture, 7, 5) is picture


def test_a_screen_keeps_the_picture_whole_where_words_are_long(arcade: Path) -> None:
    recorded = read_episode(arcade, 0)
    replay = Replay(recorded, recorded.suite.build())
    first = next(replay.moments())
    said = io.StringIO()
    console = Console(file=said, force_terminal=True, width=90, height=30, color_system=None)
    with Screen(console, "a title of words " * 9, steps=9, fps=1000) as screen:
        screen.show(first, first.observation["observation"])
    widths = {line.count("▀") for line in said.getvalue().splitlines() if "▀" in line}
    assert widths == {54}

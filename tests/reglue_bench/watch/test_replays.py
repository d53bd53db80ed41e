"""`reglue watch`: recorded episodes played again, and what is said where they cannot be."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import sqlalchemy as sa
from rich.console import Console

from env_adapters import Cell, SuiteName
from reglue.calls import Phase
from reglue.errors import EnvironmentFault
from reglue.worlds import Rendered
from reglue_bench import evaluate, tables
from reglue_bench.cli.watch import main
from reglue_bench.ledger import FILE
from reglue_bench.plan import Plan
from reglue_bench.watch import Camera, Replay, read_episode, with_pictures
from reglue_bench.watch.pictures import enlarged, shrunk, with_even_sizes
from reglue_bench.watch.screen import Screen, half_blocks
from tests.reglue_bench.toys import Seeded, corridor_plan, online_plan, play

Watch = Callable[..., tuple[int, str, str]]

PONG = "Reglue/Arcade-v0"
ARCADE = SuiteName("env_adapters.gymnasium:Gymnasium", {"id": PONG})

SCHEDULE = """\
fit = "superset"
seed = 3
schedule = [["gymnasium:Pendulum-v1", 1], [{ pool = ["pong", "maze"] }, 2], ["near", 2]]

[configs.near]
env = "env_adapters.metaworld:MetaWorld"
kwargs = { goals = { reach-v3 = [[0.0, 0.6, 0.02, 0.1, 0.85, 0.1]] }, goal_visible = true }
"""


@pytest.fixture
def watch(capsys: pytest.CaptureFixture[str]) -> Watch:
    """Runs the command: its exit code, and what it says on stdout and stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        told = capsys.readouterr()
        return int(str(left.value.code)), told.out, told.err

    return run


@pytest.fixture(scope="module")
def arcade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of three episodes of pong."""
    folder = tmp_path_factory.mktemp("arcade") / "run"
    options: Any = {"runs": 2, "episodes": 3, "episode_limit": 40, "workers": 0}
    evaluate("online:gymnasium:Reglue/Arcade-v0", agent="random", out=folder, **options)
    return folder


@pytest.fixture(scope="module")
def reach(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes of Meta-World."""
    folder = tmp_path_factory.mktemp("reach") / "run"
    options: Any = {"num_episodes": 2, "episode_horizon": 20, "workers": 0}
    evaluate("MT1:reach-v3", agent="random", out=folder, **options)
    return folder


def altered(folder: Path, statement: sa.Update) -> None:
    engine = sa.create_engine(f"sqlite:///{folder / FILE}")
    with engine.begin() as connection:
        connection.execute(statement)
    engine.dispose()


def with_suite(folder: Path, suite: SuiteName) -> None:
    """Has the run's plan name another environment."""
    about = tables.about
    engine = sa.create_engine(f"sqlite:///{folder / FILE}")
    with engine.begin() as connection:
        text = connection.execute(sa.select(about.c.value).where(about.c.name == "plan"))
        plan = dataclasses.replace(Plan.from_json(text.scalar_one()), suite=suite)
        changed = sa.update(about).where(about.c.name == "plan").values(value=plan.to_json())
        connection.execute(changed)
    engine.dispose()


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning", "online"])
def test_every_episode_of_any_procedure_is_replayed_exactly(
    tmp_path: Path, watch: Watch, procedure: str
) -> None:
    plan = corridor_plan(procedure, slots=1 if procedure == "online" else 2)
    play(tmp_path / "run", plan, Seeded())
    units = 2 if procedure == "multi-task" else 1
    for unit in range(units):
        code, out, err = watch(tmp_path / "run", "--unit", unit, "--episode", 0)
        assert (code, err) == (0, "")
        assert "replayed exactly: return" in out


def test_each_step_is_a_line_where_there_is_no_terminal(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    row = read_episode(tmp_path / "run", 1).row
    code, out, _ = watch(tmp_path / "run", "--episode", 1)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("corridor: run 0, episode 1; walk, variant 0")
    assert len(lines) == 2 + 1 + row.steps + 1  # title and head, start, steps, verdict


def test_a_multi_task_episode_is_a_unit_of_its_own(tmp_path: Path) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    assert read_episode(tmp_path / "run", 4).order.unit == 4
    assert (
        read_episode(tmp_path / "run", 0, unit=4).order == read_episode(tmp_path / "run", 4).order
    )


def test_a_curriculum_is_told_the_steps_before(tmp_path: Path) -> None:
    file = tmp_path / "worlds.toml"
    file.write_text(SCHEDULE)
    options: Any = {"runs": 2, "episodes": 5, "episode_limit": 15, "workers": 0}
    evaluate(f"online:{file}", agent="random", out=tmp_path / "run", **options)
    steps = 0
    for episode in range(5):
        recorded = read_episode(tmp_path / "run", episode, unit=1)
        assert recorded.order.cell.steps == steps
        steps += recorded.row.steps
        replay = Replay(recorded, with_pictures(recorded.suite))
        assert sum(1 for _ in replay.moments()) == recorded.row.steps + 1
        replay.close()


def test_a_reward_that_differs_is_told_by_its_step(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    with_suite(tmp_path / "run", SuiteName("tests.reglue_bench.watched:Dear", {"from_step": 3}))
    altered(
        tmp_path / "run",
        sa.update(tables.about).where(tables.about.c.name == "version numpy").values(value="1.0"),
    )
    code, _, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 1
    assert "step 3 of" in err
    assert "numpy 1.0 before" in err


def test_a_return_that_differs_is_told(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    altered(tmp_path / "run", sa.update(tables.outcomes).values({"return": 77.5}))
    code, out, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 1
    assert "recorded was return 77.5" in err
    assert "versions are the same" in err
    assert "replayed exactly" not in out


@pytest.mark.parametrize(
    ("horizon", "words"),
    [
        (3, "step 3 of 5: got the end of the episode"),
        (9, "step 5 of 5: got an episode that goes on"),
    ],
)
def test_an_end_that_differs_is_told(
    tmp_path: Path, watch: Watch, horizon: int, words: str
) -> None:
    solved = {"walk": [0]}
    play(tmp_path / "run", corridor_plan(solved=solved, num_episodes=1), Seeded())
    changed = {"solved": solved, "horizon": horizon}
    with_suite(tmp_path / "run", SuiteName("tests.worlds:Corridor", changed))
    code, _, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 1
    assert words in err


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path, watch: Watch, arcade: Path) -> None:
    for words, wanted in (
        ((tmp_path, "--episode", 0), "holds no run"),
        ((arcade, "--episode", 3), "got episode 3, but run 0 has 0 to 2"),
        ((arcade, "--unit", 2, "--episode", 0), "got run 2, but those that were played are 0 to 1"),
        ((arcade, "--episode", 0, "--fps", 0), "wanted a number above 0"),
        ((arcade, "--episode", 0, "--video", "x.gif"), "ends in .mp4"),
        ((arcade, "--episode", 0, "--video", "/proc/x/y.mp4"), "cannot be written"),
    ):
        code, _, err = watch(*words)
        assert code == 2, err
        assert wanted in err


def test_an_episode_without_a_step_is_told_whose_fault_it_was(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    faulty = {"steps": 0, "status": "agent_timeout", "detail": "no answer in 1 s\nmore"}
    altered(tmp_path / "run", sa.update(tables.outcomes).values(faulty))
    code, _, err = watch(tmp_path / "run", "--episode", 2)
    assert code == 2
    assert "ended before its first step, by agent_timeout: no answer in 1 s;" in err


def test_an_environment_that_dialled_in_cannot_be_watched(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    with_suite(tmp_path / "run", SuiteName("wait", {"name": "mine", "spec_sha256": "0"}))
    code, _, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 2
    assert "dialled in" in err


def test_an_environment_that_is_not_installed_is_named(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    with_suite(tmp_path / "run", SuiteName("nowhere_at_all:Suite", {}))
    code, _, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 2
    assert "nowhere_at_all" in err


def test_one_whose_world_now_fails_says_so(tmp_path: Path) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    with_suite(
        tmp_path / "run", SuiteName("tests.reglue_bench.worlds:Fragile", {"breaks": 2, "times": 9})
    )
    recorded = read_episode(tmp_path / "run", 0)
    replay = Replay(recorded, recorded.suite.build())
    with pytest.raises(EnvironmentFault, match=r"(?s)step 2 of .*the floor gave way"):
        list(replay.moments())


def test_a_video_has_a_frame_for_the_start_and_each_step(
    tmp_path: Path, watch: Watch, arcade: Path
) -> None:
    av = pytest.importorskip("av")
    file = tmp_path / "new" / "pong.mp4"
    code, out, err = watch(arcade, "--episode", 1, "--video", file, "--fps", 12.5)
    assert code == 0, err
    assert "replayed exactly" in out
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, float(stream.average_rate)) == ("h264", 12.5)
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
    pytest.importorskip("av")
    (copy := tmp_path / "run").mkdir()
    (copy / FILE).write_bytes((arcade / FILE).read_bytes())
    altered(copy, sa.update(tables.outcomes).values({"return": 1234.5}))
    code, _, err = watch(copy, "--episode", 0, "--video", tmp_path / "x.mp4")
    assert code == 1, err
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_numbers_make_no_video(tmp_path: Path, watch: Watch) -> None:
    pytest.importorskip("av")
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
                "tasks": {
                    "pong": {
                        "factory": ARCADE.factory,
                        "config": ARCADE.config,
                        "task": PONG,
                        "variants": [0],
                    }
                }
            },
        ),
        SuiteName("tests.reglue_bench.watched:Drawn", {}),
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
    gymnasium.register(name, "tests.reglue_bench.watched:Undrawn")
    try:
        suite = SuiteName(ARCADE.factory, {"id": name})
        world = with_pictures(suite).world()
        seen = world.start(Cell(name, 0, 1, 0, Phase.TRAIN))
        assert Camera(suite.build().spec, world).take(seen) is None
    finally:
        del gymnasium.registry[name]


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """What the command writes to a terminal of 100 × 40."""
    pty = pytest.importorskip("pty")
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


@pytest.mark.parametrize("library", ["egl", "osmesa"])
def test_metaworld_is_drawn_and_its_bits_do_not_change(reach: Path, library: str) -> None:
    probe = f"import os; os.environ['MUJOCO_GL'] = '{library}'; import mujoco; "
    probe += "m = mujoco.MjModel.from_xml_string('<mujoco/>'); mujoco.Renderer(m).close()"
    if subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip(f"{library} is not installed")
    said = on_a_terminal(reach, "--episode", "1", "--fps", "1000", MUJOCO_GL=library)
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

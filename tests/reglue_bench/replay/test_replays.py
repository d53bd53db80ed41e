"""`reglue watch`: recorded episodes played again, and what is said where they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from reglue.errors import EnvironmentFault, UsageError
from reglue_bench import evaluate
from reglue_bench.replay import Replay, read_episode, with_pictures
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.ledgers import change_fact
from tests.reglue_bench.replay.replay_recordings import Watch, altered, with_suite
from tests.reglue_bench.toys import corridor_plan, online_plan, play

SCHEDULE = """\
fit = "superset"
seed = 3
schedule = [["gymnasium:Pendulum-v1", 1], [{ pool = ["pong", "maze"] }, 2], ["near", 2]]

[configs.near]
env = "env_adapters.metaworld:MetaWorld"
kwargs = { goals = { reach-v3 = [[0.0, 0.6, 0.02, 0.1, 0.85, 0.1]] }, goal_visible = true }
"""


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
    play(tmp_path, corridor_plan(), Seeded())
    assert read_episode(tmp_path, 4).order.unit == 4
    assert read_episode(tmp_path, 0, unit=4).order == read_episode(tmp_path, 4).order


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


def test_a_judged_episode_that_was_cut_off_after_training_is_replayed(tmp_path: Path) -> None:
    options: Any = {"train_steps": 20, "num_episodes": 2, "episode_limit": 5, "workers": 0}
    evaluate("evaluate:mountain-car", agent="random", out=tmp_path / "run", **options)
    recorded = read_episode(tmp_path / "run", 1)
    assert recorded.cut_off
    replay = Replay(recorded, with_pictures(recorded.suite))
    assert sum(1 for _ in replay.moments()) == 5 + 1
    replay.close()


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning", "online"])
def test_a_reward_that_differs_is_told_by_its_step(
    tmp_path: Path, watch: Watch, procedure: str
) -> None:
    plan = corridor_plan(procedure, slots=1, solved={"walk": [0]})
    play(tmp_path / "run", plan, Seeded(), keep_rewards=procedure != "online")
    with_suite(
        tmp_path / "run", SuiteName("tests.reglue_bench.replay.watched:Dear", {"from_step": 3})
    )
    change_fact(tmp_path / "run", "version numpy", "1.0")
    code, _, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 1
    assert "step 3 of 5: got reward" in err
    assert "numpy 1.0 before" in err


def test_a_return_that_differs_is_told(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    altered(tmp_path / "run", **{"return": 77.5})
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
        ((arcade, "--episode", 3), "got --episode 3, wanted 0 to 2, of run 0"),
        ((arcade, "--unit", 2, "--episode", 0), "got --unit 2, wanted one of 0 to 1"),
        ((arcade, "--episode", 0, "--fps", 0), "wanted a number from 0.01 to 1000"),
        ((arcade, "--episode", 0, "--fps", "nan"), "wanted a number from 0.01 to 1000"),
        ((arcade, "--episode", 0, "--video", "x.gif"), "ends in .mp4"),
        ((arcade, "--episode", 0, "--video", "/proc/x/y.mp4"), "cannot be written"),
    ):
        code, _, err = watch(*words)
        assert code == 2, err
        assert wanted in err


def test_an_episode_without_a_step_is_told_whose_fault_it_was(tmp_path: Path, watch: Watch) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    altered(tmp_path / "run", steps=0, status="agent_timeout", detail="no answer in 1 s\nmore")
    code, _, err = watch(tmp_path / "run", "--episode", 2)
    assert code == 2
    assert "ended before its first step, by agent_timeout: no answer in 1 s;" in err


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        (SuiteName("wait", {"name": "mine", "spec_sha256": "0"}), "connected by itself"),
        (SuiteName("nowhere_at_all:Suite", {}), "nowhere_at_all"),
        (
            SuiteName("tests.reglue_bench.replay.watched:Unmade", {}),
            "cannot be made here: RuntimeError: no display",
        ),
    ],
    ids=["dialled in", "not installed", "fails"],
)
def test_an_environment_that_cannot_be_made_here_cannot_be_watched(
    tmp_path: Path, watch: Watch, suite: SuiteName, words: str
) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    with_suite(tmp_path / "run", suite)
    code, _, err = watch(tmp_path / "run", "--episode", 0)
    assert code == 2
    assert words in err


def test_a_file_of_one_s_own_is_watched_from_anywhere(
    tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "mine").mkdir()
    (folder / "env.py").write_text(
        "from env_adapters.gymnasium import Gymnasium\n"
        "class Mine(Gymnasium):\n"
        "    def __init__(self):\n"
        "        super().__init__('CartPole-v1')\n"
    )
    (folder / "worlds.toml").write_text('schedule = [["env.py:Mine", 1]]\n')
    (folder / "it.toml").write_text(
        'procedure = "multi-task"\nslots = 2\nnum_episodes = 2\nhorizon = 5\n'
        '[tasks.pole]\nenvironment = "env.py:Mine"\n'
    )
    monkeypatch.chdir(folder)
    evaluate("it.toml", agent="random", workers=1, out="run")
    options: Any = {"runs": 1, "episodes": 1, "episode_limit": 5}
    evaluate("online:worlds.toml", agent="random", out="worlds", **options)
    monkeypatch.chdir(tmp_path)
    for run, episode in (("run", 1), ("worlds", 0)):
        code, out, err = watch(folder / run, "--episode", episode)
        assert (code, err) == (0, "")
        assert "replayed exactly" in out


def test_one_whose_world_now_fails_says_so(tmp_path: Path) -> None:
    play(tmp_path / "run", online_plan(), Seeded())
    with_suite(
        tmp_path / "run",
        SuiteName("tests.reglue_bench.bench_worlds:Fragile", {"breaks": 2, "times": 9}),
    )
    recorded = read_episode(tmp_path / "run", 0)
    replay = Replay(recorded, recorded.suite.build())
    with raises(EnvironmentFault, "step 2", "the floor gave way"):
        list(replay.moments())


def test_a_training_episode_has_no_actions_to_be_played_again(tmp_path: Path) -> None:
    evaluate(
        "multi-task:tests.worlds:Corridor",
        agent=Seeded(),
        out=tmp_path,
        environment_args={"solved": {"a": [1]}},
        train_steps=10,
        slots=1,
        workers=0,
    )
    assert read_episode(tmp_path, 0).row.steps == 1
    with raises(UsageError, "episode 1", "run 0", "training", "--episode 0"):
        read_episode(tmp_path, 1)

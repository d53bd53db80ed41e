"""Curricula as benchmarks: an agent in another process, killed and resumed."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest

from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.runs.ledger import Ledger
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.programs import run_python
from tests.reglue_bench.conftest import Say

pytestmark = pytest.mark.slow

EPISODES = """\
fit = "superset"
seed = 3
schedule = [
    ["gymnasium:Acrobot-v1", 2],
    [{ pool = ["pong", "maze", "coloured"] }, 3],
    [{ interpolate = ["near", "far"] }, 3],
]

[configs.coloured]
env = "arcade:breakout"
[configs.coloured.display_settings]
background_color = { distribution = "color", hrange = [0, 1], srange = [1, 1], lrange = [0.2, 0.4] }

[configs.near]
env = "env_adapters.metaworld:MetaWorld"
kwargs = { goals = { reach-v3 = [[0.0, 0.6, 0.02, 0.1, 0.85, 0.1]] }, goal_visible = true }

[configs.far]
env = "env_adapters.metaworld:MetaWorld"
kwargs = { goals = { reach-v3 = [[0.0, 0.6, 0.02, 0.1, 0.85, 0.3]] }, goal_visible = true }
"""

STEPS = EPISODES.replace("seed = 3", "seed = 3\nepisodic = false").replace(
    'Acrobot-v1", 2', 'Acrobot-v1", 90'
)

OWN = """\
schedule = [["near", 1], [{ pool = ["near", "far/walk.json"] }, 2]]

[configs.near]
env = "own.py:Corridor"
kwargs = { solved = { walk = [0] } }
"""

DIES = """
import os, signal, sys
from pathlib import Path
from reglue_bench.evaluation import plan_and_start
from reglue_bench.settings import read_settings
from reglue_bench.runs.observer import NullObserver

class Dies(NullObserver):
    seen = 0
    def outcome(self, outcome, phase):
        self.seen += 1
        if self.seen == 11:
            os.kill(os.getpid(), signal.SIGKILL)

settings = read_settings(
    benchmark=sys.argv[1],
    agent="random",
    runs=2,
    episodes=8,
    episode_limit=60,
    seed=5,
    processes=1,
)
plan_and_start(Path(sys.argv[2]), settings, Dies())
"""


def play(benchmark: str, out: Path | None = None) -> Result:
    asked: dict[str, Any] = {"runs": 2, "episodes": 8, "episode_limit": 60, "seed": 5}
    return evaluate(benchmark, agent="random", processes=1, out=out, **asked)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the curriculum by episodes, from its beginning to its end."""
    folder = tmp_path_factory.mktemp("unbroken")
    (folder / "worlds.toml").write_text(EPISODES)
    assert play(f"online:{folder / 'worlds.toml'}", folder / "run").complete
    return folder / "run"


def ledger(folder: Path) -> Sequence[Any]:
    """Each episode's row, and all rewards of its unit; which try it was may differ."""
    with Ledger(folder) as found:
        return sorted(
            (*astuple(replace(row, attempt=0)), found.rewards(row.unit, row.attempt).tolist())
            for row in found.rows()
        )


def returns(result: Result) -> Sequence[Sequence[float]]:
    return [run.line for run in result.score_as(PerformanceScore).runs]


@pytest.mark.parametrize("schedule", [EPISODES, STEPS], ids=["by episodes", "by steps"])
def test_one_over_three_families_is_killed_and_resumed_to_the_same_ledger(
    tmp_path: Path, unbroken: Path, schedule: str, say: Say
) -> None:
    file = tmp_path / "worlds.toml"
    file.write_text(schedule)
    benchmark, folder = f"online:{file}", tmp_path / "run"
    with pytest.raises(CalledProcessError) as killed:
        run_python(DIES, benchmark, str(folder))
    assert killed.value.returncode == -signal.SIGKILL, killed.value.stderr
    resumed = say("bench", "--resume", folder)
    assert resumed.returncode == 0, resumed.stderr
    assert "8 of 16 episodes are done" in resumed.stdout
    if schedule == STEPS:
        unbroken = tmp_path / "unbroken"
        assert play(benchmark, unbroken).complete
    assert len(ledger(folder)) == 16
    assert ledger(folder) == ledger(unbroken)
    assert returns(read_result(folder)) == returns(read_result(unbroken))


def test_slots_and_workers_change_no_episode(tmp_path: Path) -> None:
    file = tmp_path / "worlds.toml"
    file.write_text(EPISODES)
    found = []
    few: dict[str, Any] = {"num_episodes": 8, "episode_limit": 60, "seed": 5}
    for slots, workers in ((1, 1), (4, 2)):
        out = tmp_path / f"{slots}"
        evaluate(f"multi-task:{file}", agent="random", slots=slots, workers=workers, out=out, **few)
        found.append(ledger(out))
    assert len(found[0]) == 8
    assert found[0] == found[1]


def test_a_benchmark_of_ones_own_may_hold_a_curriculum(tmp_path: Path, unbroken: Path) -> None:
    (tmp_path / "worlds.toml").write_text(EPISODES)
    (tmp_path / "mine.toml").write_text(
        'procedure = "online"\nruns = 2\nepisodes = 8\nepisode_limit = 60\nseed = 5\n'
        'environment = "worlds.toml"\n'
    )
    mine = evaluate(str(tmp_path / "mine.toml"), agent="random", processes=1)
    assert returns(mine) == returns(read_result(unbroken))


@pytest.mark.parametrize("ones_own", [True, False])
def test_steps_are_counted_by_online_benchmarks_alone(tmp_path: Path, ones_own: bool) -> None:
    file = tmp_path / "worlds.toml"
    file.write_text(STEPS)
    (tmp_path / "mine.toml").write_text(
        'procedure = "multi-task"\nhorizon = 50\n[tasks.one]\nenvironment = "worlds.toml"\n'
    )
    name = str(tmp_path / "mine.toml") if ones_own else f"multi-task:{file}"
    with raises(UsageError, "mine" if ones_own else name, "steps", "online", "episodic = true"):
        evaluate(name, agent="random", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_files_are_where_the_file_is_that_names_them(tmp_path: Path) -> None:
    """And the plan is the same wherever the folder is."""
    plans = []
    for place in ("here", "there"):
        folder = tmp_path / place / "sub"
        folder.mkdir(parents=True)
        (folder / "own.py").write_text("from tests.worlds import Corridor\n")
        kwargs = {"solved": {"walk": [0]}, "horizon": 9}
        config = json.dumps({"env": "../own.py:Corridor", "kwargs": kwargs})
        (folder / "far").mkdir()
        (folder / "far" / "walk.json").write_text(config)
        (folder / "worlds.toml").write_text(OWN)
        settings = read_settings(
            benchmark="online:sub/worlds.toml", directory=str(tmp_path / place)
        )
        plans.append(make_plan(settings))
    assert plans[0].sha256 == plans[1].sha256
    played = evaluate(f"online:{folder / 'worlds.toml'}", agent="random", runs=1, episodes=3)
    assert played.complete

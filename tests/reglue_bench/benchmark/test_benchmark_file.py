"""Benchmarks of one's own, as files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue.errors import BadArgument, PlanDiffers, UsageError, settings_of
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan, suite_of
from reglue_bench.evaluation import resume
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.online import REHEARSED_STEPS
from reglue_bench.rehearsal import shorten
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings
from tests.error_facts import raises
from tests.wrong_files import Mistake, WrongFiles

FILE = """\
procedure = "multi-task"
num_episodes = 2
split = "test"
horizon = 30
sees = ["observation"]

[tasks.slow]
environment = "gymnasium:MountainCar-v0"

[tasks.fast]
environment = "gymnasium:MountainCar-v0"
environment_args = { goal_velocity = 0.02 }

[tasks.table]
environment = "suite.py:Table"
task = "small"
variants = { train = "0-6", test = [9, "7-8"] }
"""

SUITE = """\
from env_adapters.suites import suite_name

class Table:
    def __init__(self, size=10):
        self._inner = suite_name("gymnasium:MountainCar-v0").build()
        self.spec, self.standardizes = self._inner.spec, True
        self.variants = {"small": size, "large": 2 * size}

    def world(self):
        return World(self._inner.world())

class World:
    def __init__(self, inner):
        self._inner = inner

    def start(self, cell):
        from dataclasses import replace
        return self._inner.start(replace(cell, task="MountainCar-v0", variant=0))

    def step(self, action):
        return self._inner.step(action)

    def close(self):
        self._inner.close()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "suite.py").write_text(SUITE)
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def plan_of(path: Path, **options: object) -> Plan:
    return make_plan(read_settings(benchmark=str(path), **options))


WRONG = WrongFiles(
    Path(__file__).with_name("wrong_files.txt"), "mine.toml", FILE, plan_of, {"suite.py": SUITE}
)


def test_a_file_is_a_plan(file: Path) -> None:
    plan = plan_of(file)
    assert (plan.benchmark, plan.procedure, plan.slots) == ("mine", "multi-task", 10)
    assert plan.variants == {"slow": 1, "fast": 1, "table": 3}
    assert plan.parameters == {"split": "test", "num_episodes": 2, "worst_performance": -30.0}
    assert plan.suite.config["tasks"]["table"]["variants"] == [9, 7, 8]
    assert plan.environment_args["horizon"] == 30
    settings = read_settings(benchmark=str(file))
    assert suite_of(plan, settings).build().spec.horizon == 30


def test_flags_go_first(file: Path) -> None:
    plan = plan_of(file, num_episodes=5, split="train", seed=4, slots=2)
    assert plan.parameters["num_episodes"] == 5
    assert (plan.seed, plan.slots, plan.variants["table"]) == (4, 2, 7)


def test_paths_are_the_files_folders(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "elsewhere").mkdir()
    monkeypatch.chdir(file.parent / "elsewhere")
    assert plan_of(Path("../mine.toml")).variants == plan_of(file).variants
    inside = make_plan(read_settings(benchmark="mine.toml", directory=str(file.parent)))
    assert inside.variants == plan_of(file).variants


def test_it_is_played(file: Path, tmp_path: Path) -> None:
    result = evaluate(str(file), agent="random", workers=0, out=tmp_path / "run")
    assert result.complete
    assert {row.task for row in result.episodes} == {"slow", "fast", "table"}
    assert {row.steps for row in result.episodes} == {30}
    again = evaluate(str(file), agent="random", workers=0, out=tmp_path / "run", resume=True)
    assert again.plan_sha256 == result.plan_sha256


MINE = """\
name = "mine"
procedure = "online"
runs = 1
episodes = 4
episode_limit = 10
environment = "gymnasium:CartPole-v1"
"""


def test_a_flag_for_steps_takes_the_place_of_the_file_s_episodes(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(MINE)
    assert "episodes" not in plan_of(tmp_path / "it.toml", steps=30).parameters
    assert plan_of(tmp_path / "it.toml").parameters["episodes"] == 4
    assert plan_of(tmp_path / "it.toml", episodes=2).parameters["episodes"] == 2


def test_the_plan_does_not_depend_on_where_the_folder_is(file: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path, elsewhere := tmp_path / "a" / "copy")
    assert plan_of(elsewhere / "mine.toml").sha256 == plan_of(file).sha256


def test_a_suite_that_several_tasks_come_from_stands_in_the_plan_once(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(
        'procedure = "multi-task"\nenvironment = "MT10"\n[tasks.reach-v3]\n[tasks.push-v3]\n'
        '[tasks.far]\ntask = "reach-v3"\nvariants = [49, "3-4"]\n'
    )
    config = plan_of(tmp_path / "it.toml").suite.config
    assert len(config["suites"]) == 1
    assert config["tasks"]["far"] == {"suite": 0, "task": "reach-v3", "variants": [49, 3, 4]}


def begun(benchmark: str, folder: Path) -> Path:
    evaluate(benchmark, agent="random", workers=0, out=folder / "run")
    return folder / "run"


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("num_episodes = 2", "num_episodes = 3", ["parameters.num_episodes", 2, 3]),
        ("horizon = 30", "horizon = 31", ["suite.config.horizon", 30, 31]),
        ("0.02", "0.03", ["goal_velocity", 0.02, 0.03]),
        ("[9,", "[6,", ["table.variants[0]", 9, 6]),
        ("procedure", "seed = 4\nprocedure", ["seed", 0, 4]),
    ],
)
def test_a_run_of_a_file_that_was_edited_is_not_continued(
    file: Path, tmp_path: Path, before: str, after: str, named: list[object]
) -> None:
    run = begun(str(file), tmp_path)
    text = file.read_text().replace('"0-6"', '"0-5"')  # another split's: nothing changes
    file.write_text(f"# a remark\n{text}")
    assert resume(run, NullObserver()).complete
    file.write_text(text.replace(before, after, 1))
    with raises(PlanDiffers, *named):
        resume(run, NullObserver())


def test_the_order_of_tasks_means_something(file: Path, tmp_path: Path) -> None:
    run = begun(str(file), tmp_path)
    slow, fast = FILE.index("[tasks.slow]"), FILE.index("[tasks.fast]")
    table = FILE.index("[tasks.table]")
    file.write_text(FILE[:slow] + FILE[fast:table] + FILE[slow:fast] + FILE[table:])
    with raises(PlanDiffers, "tasks", '["slow", "fast", "table"]', '["fast", "slow", "table"]'):
        resume(run, NullObserver())


def test_code_that_was_edited_is_another_environment(file: Path, tmp_path: Path) -> None:
    run = begun(str(file), tmp_path)
    (file.parent / "suite.py").write_text(SUITE + "# another\n")
    with raises(PlanDiffers, "version environment"):
        resume(run, NullObserver())


def test_a_schedule_that_was_edited_is_another_plan(tmp_path: Path) -> None:
    schedule = tmp_path / "it.toml"
    schedule.write_text('schedule = [["gymnasium:CartPole-v1", 2]]\n')
    options: Any = {"runs": 1, "episodes": 2, "episode_limit": 5, "workers": 0}
    evaluate(f"online:{schedule}", agent="random", out=tmp_path / "run", **options)
    assert resume(tmp_path / "run", NullObserver()).complete
    schedule.write_text('schedule = [["gymnasium:CartPole-v1", 3]]\n')
    with raises(PlanDiffers, "schedule[0][1]", 2, 3):
        resume(tmp_path / "run", NullObserver())


def test_an_online_file_is_rehearsed(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(MINE)
    settings = read_settings(benchmark=str(tmp_path / "it.toml"), agent="random")
    assert make_plan(shorten(settings)).parameters["steps"] == REHEARSED_STEPS


@pytest.mark.parametrize("mistake", WRONG.mistakes(), ids=str)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, mistake: Mistake) -> None:
    assert WRONG.message(mistake, tmp_path) == mistake.message


def test_a_schedule_is_no_benchmark(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text('schedule = [["pong", 1]]')
    with raises(UsageError, tmp_path / "it.toml", f"online:{tmp_path / 'it.toml'}"):
        plan_of(tmp_path / "it.toml")


def test_a_file_that_there_is_not(tmp_path: Path) -> None:
    with raises(UsageError, tmp_path / "none.toml"):
        plan_of(tmp_path / "none.toml")


def test_keywords_are_told_as_keywords_and_keys_as_keys(file: Path, tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(MINE)
    it = tmp_path / "it.toml"
    with raises(UsageError, "split=train", it, "variants", settings={"split"}, keys={}):
        plan_of(it, split="train")
    takes = {"agents", "episode_limit", "num_episodes"}
    with raises(UsageError, file, "online", settings={"runs", *takes}, keys={str(file): takes}):
        plan_of(file, runs=2)
    it.write_text(MINE + 'metric = "final:9"\n')
    with raises(UsageError, f"{it}: got metric = final:9", 4, keys={str(it): {"metric"}}):
        plan_of(it)
    with raises(UsageError, "metric=final:8", 4, settings={"metric"}, keys={}):
        plan_of(it, metric="final:8")
    with raises(UsageError, file, settings={"environment_args"}, keys={}):
        plan_of(file, environment_args={"x": 1})


def test_a_bad_argument_stays_one_where_a_file_holds_it() -> None:
    with (
        raises(BadArgument, "it.toml: num_episodes", 0, keys={"it.toml": {"num_episodes"}}),
        settings_of("it.toml", {"num_episodes"}),
    ):
        read_settings(benchmark="MT10", num_episodes=0)


def test_an_environment_that_gymnasium_lacks_is_unknown(tmp_path: Path) -> None:
    """Not on the page: what else is suggested depends on what has been registered."""
    (tmp_path / "suite.py").write_text(SUITE)
    (tmp_path / "mine.toml").write_text(FILE.replace("MountainCar-v0", "MountainCaar-v0", 1))
    with raises(
        UsageError, "tasks.slow", "'MountainCaar-v0'", "MountainCar-v0", "gymnasium:my_module"
    ):
        WRONG.read(tmp_path / "mine.toml")


THREE = """\
procedure = "evaluate"
num_episodes = 3
fit = "superset"

[tasks.cart]
environment = "gymnasium:CartPole-v1"

[tasks.car]
environment = "gymnasium:MountainCar-v0"
environment_args = { max_episode_steps = 20 }

[tasks.swing]
environment = "gymnasium:Pendulum-v1"
environment_args = { max_episode_steps = 20 }
"""


def test_environments_of_different_spaces_are_one_benchmark(tmp_path: Path) -> None:
    def act(seen: Any) -> Any:
        lean = (seen["observation/0"][:, 2] > 0).astype(int)
        return {
            "action/0": np.where(seen["kind"] == 0, lean, 2),
            "action/1": -seen["observation/2"][:, 1:2],
        }

    file = tmp_path / "three.toml"
    file.write_text(THREE)
    result = evaluate(str(file), agent=act, workers=1, slots=2)
    assert result.mean_return == pytest.approx(sum(result.returns_per_task.values()) / 3)  # type: ignore[arg-type]
    alone = evaluate(
        "evaluate:gymnasium:Pendulum-v1",
        agent=lambda seen: -seen[:, 1:2],
        environment_args={"max_episode_steps": 20},
        num_episodes=3,
        workers=0,
    )
    assert result.returns_per_task["swing"] == alone.mean_return
    assert result.returns_per_task["car"] == -20


def test_different_spaces_that_are_not_fitted_are_refused_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text(THREE.replace('fit = "superset"\n', ""))
    with raises(UsageError, f"{file}:4: tasks: car", (2,), (4,), "cart", '"pad"', '"superset"'):
        make_plan(read_settings(benchmark=str(file)))
    file.write_text(THREE.replace('"superset"', '"pad"'))
    with raises(UsageError, f"{file}:3: fit: swing", "Discrete(2)", "superset"):
        make_plan(read_settings(benchmark=str(file)))
    file.write_text(THREE.replace('"superset"', '"padd"'))
    with raises(UsageError, f"{file}:3: fit", "'padd'", "'equal', 'pad' or 'superset'"):
        make_plan(read_settings(benchmark=str(file)))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('procedure = "online"\nenvironment = "gridworld"\narguments = {}\n', "3: arguments"),
        (
            'procedure = "online"\n[tasks.a]\nenvironment = "gridworld"\narguments = {}\n',
            "4: tasks.a",
        ),
    ],
)
def test_the_old_name_of_environment_args_is_refused_with_the_new_one(
    text: str, where: str, tmp_path: Path
) -> None:
    file = tmp_path / "old.toml"
    file.write_text(text, encoding="utf-8")
    with raises(UsageError, f"old.toml:{where}", "environment_args"):
        plan_of(file)

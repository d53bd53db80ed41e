"""Benchmarks of one's own, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from env_adapters.metaworld import draw_goals, task_set
from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.benchmarks import make_plan
from reglue_bench.cli.benchmarks import main as benchmarks
from reglue_bench.plan import Plan
from reglue_bench.settings import read_settings

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
arguments = { goal_velocity = 0.02 }

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


def say(words: list[str]) -> None:
    """`reglue benchmarks WORDS`."""
    with pytest.raises(SystemExit) as left:
        benchmarks(words)
    assert left.value.code == 0


def test_a_file_is_a_plan(file: Path) -> None:
    plan = plan_of(file)
    assert (plan.benchmark, plan.procedure, plan.slots) == ("mine", "multi-task", 10)
    assert plan.variants == {"slow": 1, "fast": 1, "table": 3}
    assert plan.parameters == {"split": "test", "num_episodes": 2}
    assert plan.suite.config["tasks"]["table"]["variants"] == [9, 7, 8]
    assert plan.suite.build().spec.horizon == 30


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


def test_a_built_in_is_described_as_a_file_that_plays_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(["MT1:reach-v3", "--describe"])
    path = tmp_path / "reach.toml"
    path.write_text(capsys.readouterr().out)
    described, built_in = plan_of(path), make_plan(read_settings(benchmark="MT1:reach-v3"))
    assert described.suite == built_in.suite
    assert described.variants == built_in.variants
    assert (described.seed, described.slots) == (built_in.seed, built_in.slots)
    assert described.parameters["num_episodes"] == built_in.parameters["num_episodes"]
    goals = draw_goals(task_set("MT1:reach-v3"), 0)["reach-v3"]
    assert described.suite.config["goals"]["reach-v3"] == [list(goal) for goal in goals]


@pytest.mark.parametrize("name", ["online:mountain-car", "ML1:reach-v3", "MT10"])
def test_each_kind_can_be_described(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say([name, "--describe"])
    (tmp_path / "it.toml").write_text(capsys.readouterr().out)
    plan = plan_of(tmp_path / "it.toml")
    assert plan.variants == make_plan(read_settings(benchmark=name)).variants


def test_what_a_file_holds_is_listed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say([str(file)])
    out = capsys.readouterr().out
    assert "table" in out
    assert "observation" in out


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"multi-task"', '"multitask"', "mine.toml:1: there is no procedure 'multitask'"),
        ("num_episodes = 2", "num_epsodes = 2", "--num-epsodes"),
        ("num_episodes = 2", "num_episodes = 0", "--num-episodes.*got 0"),
        ("num_episodes = 2", "runs = 2", "--runs belongs to online benchmarks"),
        ('sees = ["observation"]', 'sees = ["obs"]', "tensor of slow called 'obs'"),
        ("horizon = 30", 'horizon = "x"', "mine.toml:4: horizon: .*got 'x'"),
        ('split = "test"', "", 'mine.toml:14: tasks.table: got split None, wanted split = "train"'),
        (
            '"7-8"',
            '"7-10"',
            r"mine.toml:14: tasks.table: got the variants 7-10, wanted some of 0 to 9",
        ),
        ('"7-8"', '"8-7"', "got the variants 8-7"),
        ('"7-8"', '"x"', 'got the variants "x", wanted numbers or "first-last"'),
        ('"small"', '"smal"', "task of suite.py:Table called 'smal'; did you mean small"),
        ("MountainCar-v0", "MountainCaar-v0", "mine.toml:7: tasks.slow: there is no Gymnasium"),
        ("[tasks.slow]", "[tasks.slow]\nenvironments = 1", "mine.toml:8: tasks.slow.environments"),
        ("goal_velocity", "goal_speed", "mine.toml:10: tasks.fast: .*goal_speed"),
        ("procedure =", "procedure", "mine.toml is not TOML: .*line 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    file: Path, before: str, after: str, words: str
) -> None:
    assert before in FILE
    file.write_text(FILE.replace(before, after))
    with pytest.raises(UsageError, match=words):
        plan_of(file)


def test_a_schedule_is_no_benchmark(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text('schedule = [["pong", 1]]')
    with pytest.raises(UsageError, match=r"it.toml is a schedule, .* play it as online:/"):
        plan_of(tmp_path / "it.toml")


def test_a_file_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.toml cannot be read: No such file"):
        plan_of(tmp_path / "none.toml")

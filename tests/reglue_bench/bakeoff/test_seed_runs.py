"""Several training seeds of one agent: a run each, and what they say together."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from reglue import Agent, Turn
from reglue.agents.agent import Chosen
from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.bakeoff import read_bakeoff
from reglue_bench.bakeoff.seed_runs import holds_seeds, runs_in, seeded, seeded_before
from reglue_bench.cli import bench, report
from reglue_bench.plots.compared import groups_of
from reglue_bench.report.page import draw_report
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import read_run
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.glue_server.playing import rows_of
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.bakeoffs import BENCHMARK, agent, surroundings, write
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.toys import AGENTS, cells, rows

pytestmark = pytest.mark.slow


class Steady(Agent):
    """Plays what its training seed has taught it."""

    def __init__(self, seed: int) -> None:
        self.action = 0.1 * seed

    def turn(self, turn: Turn) -> Chosen:
        return np.full((rows_of(turn), 1), self.action)


CORRIDOR = [
    "multi-task:tests.worlds:Corridor",
    *("--environment-arg", 'solved={"a": [1, 3, 0], "b": [5, 0, 2]}'),
    *("--slots", "2", "--workers", "1"),
]
TRAINED = ["--agent", f"{AGENTS}:Seeded", "--train-steps", "20"]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        bench.main([*words])
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an agent with training seeds 3 and 4."""
    folder = tmp_path_factory.mktemp("seeds") / "two"
    words = ["--training-seed", "3", "--training-seeds", "2", "--out", str(folder)]
    assert run(*CORRIDOR, *TRAINED, *words) == 0
    return folder


ONLINE = [
    *("online:tests.worlds:Corridor", "--environment-arg", 'solved={"walk": [0]}'),
    *("--runs", "2", "--episodes", "2", "--workers", "1", "--training-seeds", "2"),
]


def results(folder: Path) -> list[Result]:
    return [read_run(each) for each in runs_in(folder)]


def test_each_training_seed_is_a_run_of_one_plan(two: Path) -> None:
    assert [each.name for each in runs_in(two)] == ["seed-3", "seed-4"]
    one, other = results(two)
    assert (one.agent.training_seed, other.agent.training_seed) == (3, 4)
    assert one.plan_sha256 == other.plan_sha256
    judged = [[row for row in cells(each) if row[1] < 6] for each in (one, other)]
    assert judged[0] == judged[1]
    assert rows(one) != rows(other)
    assert (two / "report.html").is_file()


def test_a_run_is_that_of_its_training_seed_alone(two: Path, tmp_path: Path) -> None:
    words = ["--training-seed", "4", "--out", str(tmp_path / "alone")]
    assert run(*CORRIDOR, *TRAINED, *words) == 0
    assert rows(read_run(tmp_path / "alone")) == rows(results(two)[1])


def test_runs_of_training_seeds_play_in_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played(name: str, copies: str) -> list[Result]:
        words = [
            *("--agent", f"{AGENTS}:Meets", "--agent-arg", "scale=0.{training_seed}"),
            *("--agent-arg", f"folder={tmp_path}/{name} of {{training_seed}}"),
            *("--agent-arg", f"copies={copies}", "--processes", copies, "--at-once", copies),
        ]
        assert run(*ONLINE, *words, "--out", str(tmp_path / name)) == 0
        logs = [len([*each.glob("agent*.log")]) for each in runs_in(tmp_path / name)]
        assert logs == [int(copies)] * 2
        return results(tmp_path / name)

    monkeypatch.setenv("PYTHONPATH", surroundings()["PYTHONPATH"])
    one, two = ([rows(each) for each in played(f"{n} at once", n)] for n in ("1", "2"))
    assert one[0] != one[1]
    assert two == one


def test_processes_for_one_agent_that_learns_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--training-seeds", "2", "--processes", "2", "--out", str(tmp_path / "run")]
    assert run(*CORRIDOR, *TRAINED, *words) == 2
    assert "--processes 2" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_of_training_seeds_is_resumed_by_its_name(two: Path, tmp_path: Path) -> None:
    """A seed that was not finished is played, the others are as they were."""
    folder = tmp_path / "again"
    shutil.copytree(two, folder)
    shutil.rmtree(folder / "seed-4")
    words = ["--training-seed", "4", "--out", str(folder / "seed-4")]
    assert run(*CORRIDOR, *TRAINED, *words) == 0
    assert holds_seeds(folder)
    assert run("--resume", str(folder)) == 0
    assert [rows(each) for each in results(folder)] == [rows(each) for each in results(two)]


def test_another_number_of_steps_is_another_run(two: Path) -> None:
    entrants = seeded_before(two, {"train_steps": 30})
    assert [each.settings.train_steps for each in entrants] == [30, 30]
    assert run("--resume", str(two), "--train-steps", "30") == 2


def test_a_report_takes_the_folder_of_an_agents_training_seeds(two: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    csv, latex = tmp_path / "t.csv", tmp_path / "t.tex"
    with pytest.raises(SystemExit) as left:
        report.main([str(two), "--out", str(page), "--csv", str(csv), "--latex", str(latex)])
    assert not left.value.code
    assert "Over training seeds" in page.read_text(encoding="utf-8")
    assert csv.read_text(encoding="utf-8").count("\n") == 2
    assert "Seeded,training,return,2,20," in (tmp_path / "t-curves.csv").read_text("utf-8")
    assert "\\toprule" in latex.read_text(encoding="utf-8")


def test_training_seeds_are_compared_by_return_too() -> None:
    """If an environment reports no success, the score is the return."""
    runs = [
        (f"{label} {seed}", lottery(label, agent(seed), seed))
        for label, agent in (("one", Steady), ("other", lambda _seed: Seeded()))
        for seed in range(5)
    ]
    assert list(groups_of(runs)) == ["one", "other"]
    found = draw_report(runs).comparison
    assert found is not None
    assert found.seeds is not None
    assert [row[0] for row in found.seeds.table.rows] == ["one", "other"]
    assert "\n" in found.seeds.table.rows[0][2]  # then its interval
    assert found.seeds.pairs is not None
    assert found.seeds.verdict


def lottery(label: str, agent: Agent, seed: int) -> Result:
    return evaluate(
        "evaluate:tests.reglue_bench.bench_worlds:Lottery",
        agent=agent,
        num_episodes=6,
        train_steps=20,
        training_seed=seed,
        label=label,
        slots=2,
        workers=0,
    )


SEEDS = "train_steps = 20\ntraining_seeds = 2\n"


def test_a_bake_off_plays_each_training_seed_of_its_agents(say: Say, tmp_path: Path) -> None:
    benchmark = BENCHMARK.replace("workers = 0", "workers = 1") + SEEDS
    tables = [agent("seeded"), agent("later", more='training_seed = 3\nlabel = "Later"')]
    path, out = write(tmp_path, *tables, benchmark=benchmark), tmp_path / "out"
    done = say("bakeoff", path, "--out", out)
    assert done.returncode == 0, done.stderr
    folders = ["later-seed-3", "later-seed-4", "seeded-seed-0", "seeded-seed-1"]
    assert [each.name for each in runs_in(out)] == folders
    seen = [(each.agent.label, each.agent.training_seed) for each in results(out)]
    assert seen == [("Later", 3), ("Later", 4), ("seeded", 0), ("seeded", 1)]
    assert len({tuple(map(tuple, rows(each))) for each in results(out)}) == 4
    table = done.stdout[done.stdout.index("interquartile mean") :]
    assert [line.split()[0] for line in table.splitlines() if "%" in line][:2] == [
        "seeded",
        "Later",
    ]
    assert "Over training seeds" in (out / "report.html").read_text(encoding="utf-8")
    shutil.rmtree(out / "later-seed-4")
    assert say("bakeoff", path, "--resume", out).returncode == 0
    assert (out / "later-seed-4" / "result.json").is_file()


def test_an_agent_that_no_training_seed_changes_plays_once(tmp_path: Path) -> None:
    told = agent("told", more='agent_args = { checkpoint = "{training_seed}.npz" }')
    benchmark = BENCHMARK + "training_seeds = 3\n"
    found = read_bakeoff(write(tmp_path, told, agent("same"), benchmark=benchmark), {})
    assert [each.name for each in found] == ["told-seed-0", "told-seed-1", "told-seed-2", "same"]
    assert [each.settings.agent_args.get("checkpoint") for each in found] == [
        "0.npz",
        "1.npz",
        "2.npz",
        None,
    ]
    assert {each.submission for each in found} == {"told", "same"}


@pytest.mark.parametrize("names", [["a", "a-seed-1"], ["a-seed-1", "a"]])
def test_an_agent_called_as_a_run_of_another_is_refused(
    names: list[str], tmp_path: Path, say: Say
) -> None:
    told = {"a": 'agent_args = { checkpoint = "{training_seed}.npz" }'}
    tables = [agent(name, more=told.get(name, "")) for name in names]
    path = write(tmp_path, *tables, benchmark=BENCHMARK + "training_seeds = 2\n")
    with raises(UsageError, *[f"[agents.{name}]" for name in names], "a-seed-1"):
        read_bakeoff(path, {})
    refused = say("bakeoff", path, "--out", tmp_path / "out")
    assert refused.returncode == 2
    assert not (tmp_path / "out").exists()


def test_a_token_is_of_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAR", "a" * 32)
    far = '[agents.far]\nwait = true\ntoken_env = "FAR"\n'
    path = write(tmp_path, far, agent("near"), benchmark=BENCHMARK + SEEDS)
    with raises(UsageError, "[agents.far]", "$FAR", "training_seeds"):
        read_bakeoff(path, {})


def test_the_training_seed_stands_in_arguments_and_commands() -> None:
    settings = Settings(
        benchmark="MT10", agent="a.py:A", agent_args={"checkpoint": "s{training_seed}.npz"}
    )
    assert [each.settings.agent_args for each in seeded(settings, 2)] == [
        {"checkpoint": "s0.npz"},
        {"checkpoint": "s1.npz"},
    ]
    program = Settings(benchmark="MT10", agent_cmd="./a {training_seed}", training_seed=7)
    assert [each.settings.agent_cmd for each in seeded(program, 2)] == ["./a 7", "./a 8"]


def test_the_same_agent_again_and_again_is_refused() -> None:
    with raises(UsageError, "--training-seeds 5", "{training_seed}"):
        seeded(Settings(benchmark="MT10", agent="random"), 5)


@pytest.mark.parametrize(
    "words",
    [
        ["--at-once", "2"],
        ["--training-seeds", "1"],
        ["--training-seeds", "2", "--json"],
        ["--training-seeds", "2", "--retry-faults"],
    ],
)
def test_flags_that_do_not_go_together_are_refused(words: list[str], tmp_path: Path) -> None:
    assert run(*CORRIDOR, *TRAINED, *words, "--out", str(tmp_path / "run")) == 2
    assert not (tmp_path / "run").exists()

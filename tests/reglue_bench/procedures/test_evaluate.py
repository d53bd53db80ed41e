"""`evaluate:` gives the mean return over seeded episodes, as Stable-Baselines3 does."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from rich.console import Console

import reglue
from glue_server import Outcome
from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.measures.compare import compare
from reglue_bench.procedures import procedure_of
from reglue_bench.rehearsal import rehearse
from reglue_bench.report.page_contents import why_not_compared
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import ReturnScore, SuccessScore
from reglue_bench.runs.observer import NullObserver, RunStarted
from reglue_bench.settings import read_settings
from reglue_bench.statistics import wilson
from reglue_bench.terminal.summary import notes, print_summary, score_table
from reglue_bench.terminal.tally import tally_of
from tests.error_facts import raises
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.toys import Interrupts, rows

NAME = "evaluate:gymnasium:CartPole-v1"
SECRETS = ("0123456789abcdef-one", "0123456789abcdef-two")
HERE = Path(__file__)


class Steps(gymnasium.Env[Any, Any]):
    """Each step earns the number that the seed drew; success at the second step of five."""

    def __init__(self, *, ends: bool = True) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
        self.action_space = gymnasium.spaces.Discrete(2)
        self._ends = ends

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seed, self._steps = seed, 0
        self._drawn = float(self.np_random.normal())
        return np.array([self._drawn], np.float32), {}

    def step(self, action: Any) -> Any:
        self._steps += 1
        seen = np.array([self._drawn], np.float32)
        info = {"is_success": self._steps == 2 and self._drawn > 0}
        return seen, self._drawn + action, self._ends and self._steps == 5, False, info


def leaning(gain: float) -> reglue.Policy:
    def lean(observations: Any) -> Any:
        return (observations[:, 2] + gain * observations[:, 3] > 0).astype(np.int64)

    return reglue.Policy(lean)


def played(gain: float = 0.0, name: str = NAME, **options: Any) -> Result:
    return evaluate(name, agent=leaning(gain), **{"workers": 0, "num_episodes": 8, **options})


def returns(result: Result) -> list[float]:
    return [row.return_ for row in result.episodes]


def of_gymnasium(gain: float, seeds: range) -> list[float]:
    """The returns of plain Gymnasium, one episode a seed."""
    env, found = gymnasium.make("CartPole-v1"), []
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action = int(observation[2] + gain * observation[3] > 0)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        found.append(total)
    env.close()
    return found


@pytest.mark.slow
def test_stable_baselines3_finds_the_same_returns_on_the_same_seeds(
    say: Say, tmp_path: Path
) -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, n_epochs=4, seed=1, device="cpu").learn(128)

    theirs = []  # its own way to play given seeds
    env = make_vec_env("CartPole-v1")
    for seed in range(8):
        env.seed(seed)
        theirs += evaluate_policy(model, env, n_eval_episodes=1, return_episode_rewards=True)[0]
    env.close()

    ours = evaluate("evaluate:gymnasium:CartPole-v1", agent=model, num_episodes=8, workers=0)

    assert returns(ours) == theirs
    assert len(set(theirs)) > 1

    model.save(tmp_path / "ppo")
    (tmp_path / "agent.py").write_text("from stable_baselines3 import PPO\n\nload = PPO.load\n")
    words = f"bench {NAME} --agent agent.py:load --agent-arg path=ppo.zip --num-episodes 8"
    done = say(*words.split(), "--workers", "0", "--out", "run", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert returns(read_result(tmp_path / "run")) == theirs

    assert ours.mean_return == pytest.approx(np.mean(theirs))
    assert [row.seed for row in ours.episodes] == [*range(8)]


def test_episode_n_is_reset_with_seed_plus_n() -> None:
    result = played(seed=40)
    assert returns(result) == of_gymnasium(0.0, range(40, 48))
    assert [row.seed for row in result.episodes] == [*range(40, 48)]


def test_an_environment_without_a_codec_is_reset_with_the_seed_too() -> None:
    result = evaluate(Steps, agent=reglue.Policy(lambda seen: np.zeros(len(seen), np.int64)))
    drawn = [np.random.default_rng(seed).normal() for seed in range(100)]
    assert returns(result) == [sum([each] * 5) for each in drawn]
    assert result.coverage.cells_planned == 100


def test_rows_do_not_depend_on_slots_or_workers() -> None:
    wanted = rows(played(slots=1))
    assert rows(played(slots=3)) == wanted
    assert rows(played(slots=3, workers=2)) == wanted


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    wanted = rows(played(slots=2))
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        played(slots=2, out=folder, watcher=Interrupts(after=3))
    assert 0 < read_result(folder).coverage.cells_completed < 8
    assert rows(played(slots=2, out=folder, resume=True)) == wanted


def test_success_is_told_beside_the_return_and_ends_no_episode() -> None:
    zeros = reglue.Policy(lambda seen: np.zeros(len(seen), np.int64))
    result = evaluate(Steps, agent=zeros, num_episodes=20)
    won = [np.random.default_rng(seed).normal() > 0 for seed in range(20)]
    assert [row.success for row in result.episodes] == won
    assert {row.steps for row in result.episodes} == {5}
    assert result.mean_success_rate == np.mean(won)
    score = result.score_as(ReturnScore)
    assert score.success is not None
    assert score.success.intervals95.mean == wilson(sum(won), 20)
    assert score.intervals95 is not None
    assert (score.value, result.interval95) == (result.mean_return, score.intervals95.mean)
    assert "success" in shown(result)
    with raises(UsageError, "evaluate:Steps", "mean return", "success"):
        result.score_as(SuccessScore)


def test_an_environment_that_never_reports_success_has_no_column_of_it() -> None:
    text = shown(result := played())
    assert "success" not in text
    assert result.score_as(ReturnScore).success is None
    assert "mean return" in text


def shown(result: Result) -> str:
    console = Console(file=io.StringIO(), width=150)
    print_summary(console, result)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_equal_returns_have_no_interval_and_the_notes_say_so() -> None:
    result = played(num_episodes=2, episode_limit=5)
    assert result.interval95 is None
    assert "no interval: the returns of all episodes are equal" in notes(result)


def test_an_episode_without_an_end_is_cut_off() -> None:
    result = evaluate(
        Steps,
        agent=reglue.Policy(lambda seen: np.ones(len(seen), np.int64)),
        environment_args={"ends": False},
        num_episodes=2,
        episode_limit=7,
    )
    assert [row.steps for row in result.episodes] == [7, 7]
    assert result.complete
    assert result.episodes_cut_off == 2
    assert "2 episodes cut off at the episode limit of 7 steps" in notes(result)


def test_two_runs_are_paired_by_the_seeds_that_both_played() -> None:
    one, other = played(0.02, seed=5, slots=3), played(1.0, num_episodes=12)
    found = compare(one, other)
    shared = np.subtract(of_gymnasium(0.02, range(5, 12)), of_gymnasium(1.0, range(5, 12)))
    assert found.pairs == 7
    assert found.difference == pytest.approx(shared.mean())
    assert not found.same_plan


def test_runs_without_a_seed_in_common_are_not_compared() -> None:
    with raises(UsageError, "seed"):
        compare(played(), played(seed=8))


def test_runs_of_other_environments_are_not_compared() -> None:
    other = played(name="evaluate:gymnasium:CartPole-v0")
    with raises(UsageError, "environments"):
        compare(played(), other)


def test_a_secret_keys_the_seeds_and_one_secret_gives_all_runs_the_same() -> None:
    one, again = (played(secret=SECRETS[0]) for _ in range(2))
    assert returns(one) == returns(again) != returns(played())
    assert {row.seed for row in one.episodes} == {None}
    assert compare(one, again).pairs == 8
    with raises(UsageError, "secret"):
        compare(one, played(secret=SECRETS[1]))


def test_keyed_seeds_fit_into_31_bits() -> None:
    plan = make_plan(read_settings(benchmark=NAME, num_episodes=100))
    procedure = procedure_of(plan)
    seeds = [plan.cell_seed(unit, procedure.cells(unit)[0], bytes(32)) for unit in range(100)]
    assert len(set(seeds)) == 100
    assert 2**29 < max(seeds) < 2**31


def test_a_seed_that_no_environment_takes_is_refused() -> None:
    with raises(UsageError, f"seed={2**31 - 7}", "8 episodes", settings={"seed"}):
        played(seed=2**31 - 7)


def test_a_continuing_task_is_refused() -> None:
    with raises(UsageError, "evaluate:access-control", "steps=N"):
        make_plan(read_settings(benchmark="evaluate:access-control"))


def test_a_rehearsal_is_short() -> None:
    settings = read_settings(benchmark=NAME, agent="random", workers=0, slots=2)
    checks = rehearse(settings, NullObserver())
    assert all(check.passed is not False for check in checks), checks


def test_the_tally_shows_the_mean_return_so_far() -> None:
    class Watching(NullObserver):
        def begin(self, begun: RunStarted) -> None:
            self.tally = tally_of(procedure_of(begun.plan), begun, lambda: 1.0)

        def outcome(self, outcome: Outcome, phase: str) -> None:
            self.tally.take(outcome, phase)

    result = played(watcher=(watching := Watching()))
    assert f"mean return so far {result.mean_return:.1f}" in watching.tally.line()


def test_multi_task_says_that_it_cannot_know_success_and_names_evaluate() -> None:
    result = played(name="multi-task:gymnasium:CartPole-v1", num_episodes=1)
    said = "\n".join(notes(result))
    assert "does not report success" in said
    assert "evaluate:gymnasium:CartPole-v1" in said


def test_the_result_reads_back(tmp_path: Path) -> None:
    result = played(out=tmp_path / "run")
    assert read_result(tmp_path / "run") == result
    assert str(result).startswith("lean on evaluate:gymnasium:CartPole-v1: mean return ")


def test_a_benchmark_of_meta_world_is_played_to_its_horizon_with_success_beside() -> None:
    result = evaluate(
        "evaluate:MT1:reach-v3",
        agent="expert",
        agent_args={"task": '"reach-v3"'},
        num_episodes=2,
        environment_args={"horizon": 60},
        workers=0,
    )
    assert {row.steps for row in result.episodes} == {60}
    assert result.mean_success_rate == 1.0
    assert result.goals_sha256


def test_a_plan_without_a_horizon_in_its_config_has_a_hash() -> None:
    plan = make_plan(read_settings(benchmark="evaluate:MT1:reach-v3", num_episodes=1))
    assert len(plan.goals_sha256) == 64


def test_what_was_changed_of_an_environment_is_wherever_the_score_is() -> None:
    arguments = {"max_episode_steps": 50, "sutton_barto_reward": True}
    cut = played(environment_args=arguments)
    turned = played(environment_args=dict(reversed(arguments.items())))
    assert cut.environment_args == arguments
    assert "max_episode_steps = 50, sutton_barto_reward = true" in str(cut)
    assert "max_episode_steps = 50" in str(score_table(cut).title)
    assert compare(cut, turned).same_plan
    assert cut.title == turned.title


def test_why_runs_are_not_compared_names_what_differs() -> None:
    cut, plain = played(environment_args={"max_episode_steps": 50}), played()
    told = why_not_compared(("y", cut), ("x", plain))
    assert "suite.config.max_episode_steps: null in x, 50 in y" in told
    without = [run.model_copy() for run in (cut, plain)]
    for run in without:
        run._episodes = None
    told = why_not_compared(("y", without[0]), ("x", without[1]))
    assert "environment_args.max_episode_steps: null in x, 50 in y" in told

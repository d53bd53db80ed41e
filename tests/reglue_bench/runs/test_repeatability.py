"""A run whose environment or agent cannot be repeated says so, at its end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from reglue import Agent, Ends, Starts, Steps, TaskSpec
from reglue.spec import Arrays
from reglue_bench import Evaluator, evaluate, read_result
from reglue_bench.evaluation import carry_out, start
from reglue_bench.plans.plan import Plan
from reglue_bench.report.page import draw_report
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from reglue_bench.terminal.summary import notes
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import AGENTS, Interrupts, corridor_plan, online_plan, play

Actions = npt.NDArray[Any]

WAYS = (
    "random reward",
    "random observation",
    "sign of zero",
    "rewards of before",
    "success of before",
    "ends sooner",
)


def unrepeatable(way: str, **parameters: Any) -> Plan:
    suite, config = "tests.reglue_bench.bench_worlds:Unrepeatable", {"way": way}
    return corridor_plan(solved={"walk": [0]}, suite=suite, config=config, **parameters)


@pytest.mark.parametrize("way", WAYS)
def test_an_environment_that_is_no_function_of_its_cell_is_named(tmp_path: Path, way: str) -> None:
    result = play(tmp_path / "run", unrepeatable(way), Seeded())
    assert result.complete
    assert result.repeatable is False
    [line] = [each for each in notes(result) if each.startswith("not repeatable")]
    assert "because of the environment" in line
    assert read_result(tmp_path / "run").repeats == result.repeats
    page = draw_report([("run", result)]).write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Not repeatable, because of the environment" in page


def test_an_observation_that_differs_is_shown_with_both_values(tmp_path: Path) -> None:
    """0.0 and -0.0 are different bits, and look different."""
    result = play(tmp_path / "run", unrepeatable("sign of zero"), Seeded())
    [what] = [each.what for each in result.repeats if each.who == "environment"]
    place = "step 0: observation 'observation'[0]: got"
    assert place in what
    shown = set(re.findall(r"-?0\.0", what.partition(place)[2]))
    assert shown == {"0.0", "-0.0"}


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning", "online"])
@pytest.mark.parametrize("workers", [0, 1])
def test_one_that_is_one_is_repeatable(tmp_path: Path, procedure: str, workers: int) -> None:
    plan = corridor_plan(procedure, slots=1 if procedure == "online" else 2)
    result = play(tmp_path / "run", plan, Seeded(), workers=workers)
    assert result.repeatable is True
    assert not [each for each in notes(result) if "repeatable" in each]
    assert result.steps.executed == result.steps.counted  # what is played again is no part of it


@pytest.mark.parametrize("episodes", [1, 4])
def test_statistics_that_a_wrapper_keeps_are_found(episodes: int) -> None:
    env = gym.wrappers.NormalizeReward(gym.make("CartPole-v1"))
    zeros = lambda observations: np.zeros(len(observations), np.int64)  # noqa: E731
    assert evaluate(env, agent=zeros, num_episodes=episodes).repeatable is False
    assert evaluate(gym.make("CartPole-v1"), agent=zeros, num_episodes=1).repeatable is True


def test_of_a_long_episode_the_first_steps_are_played_again(tmp_path: Path) -> None:
    plan = online_plan(config={"horizon": 300}, runs=1, episodes=1)
    result = play(tmp_path / "run", plan, Seeded())
    assert result.repeatable is True
    [environment] = result.repeats
    assert "the first 50 steps" in environment.what


def test_of_a_run_in_many_slots_no_more_are_played_again_than_its_turns_allow() -> None:
    """A step of one slot of a batch takes as long as a turn of all."""
    envs = gym.make_vec("CartPole-v1", num_envs=64, vectorization_mode="vector_entry_point")
    balance = lambda seen: (seen[:, 2] + seen[:, 3] > 0).astype(np.int64)  # noqa: E731
    result = evaluate(envs, agent=balance, num_episodes=256)
    assert result.steps.counted > 50 * 800 * 2
    [environment, _] = result.repeats
    assert "the first 50 steps" in environment.what


def test_where_it_is_not_wanted_nothing_is_played_again(tmp_path: Path) -> None:
    result = play(tmp_path / "run", unrepeatable(WAYS[0]), Seeded(), repeat_check=False)
    assert result.repeats == ()
    assert result.repeatable is None


def test_episodes_of_other_processes_are_played_again_here(tmp_path: Path) -> None:
    agent = f"{AGENTS}:Seeded"
    same = play(tmp_path / "same", online_plan(runs=2), agent, processes=2)
    assert same.repeatable is True
    plan = unrepeatable("rewards of before", procedure="online", slots=1, runs=2)
    assert play(tmp_path / "other", plan, agent, processes=2).repeatable is False


def test_a_resumed_run_is_checked_at_its_end(tmp_path: Path) -> None:
    plan = unrepeatable("rewards of before", slots=1)
    request = Request(Settings(benchmark="corridor", workers=0), plan, agent=Seeded())
    assert start(tmp_path / "run", request, Interrupts(2)).repeatable is None
    for _ in range(2):  # the second time nothing is left to play
        with Ledger(tmp_path / "run") as ledger:
            result = carry_out(tmp_path / "run", ledger, request, NullObserver())
        assert result.complete
        assert result.repeatable is False


def test_an_evaluator_checks_its_environments_once() -> None:
    options: dict[str, Any] = {"environment_args": {"solved": {"a": [0, 3]}}, "slots": 1}
    with Evaluator("multi-task:tests.worlds:Corridor", workers=0, **options) as evaluator:
        assert [evaluator(Seeded()).repeatable for _ in range(2)] == [True, None]


class Asked(Agent):
    """Keeps how many observations it was asked about; acts by `choose`."""

    def __init__(self) -> None:
        self.rows = self.cleanups = 0

    def agent_init(self, spec: TaskSpec) -> None:
        self.rng = np.random.default_rng(0)
        self.episodes = 0

    def agent_start(self, observations: Arrays, starts: Starts) -> Actions:
        self.episodes += len(starts)
        return self._act(observations)

    def agent_step(self, rewards: Actions, observations: Arrays, steps: Steps) -> Actions:
        return self._act(observations)

    def agent_cleanup(self) -> None:
        self.cleanups += 1

    def choose(self, seen: Actions) -> Actions:
        return np.zeros((len(seen), 1))

    def _act(self, observations: Arrays) -> Actions:
        self.rows += len(observations["observation"])
        return self.choose(observations["observation"])


class Draws(Asked):
    """From a generator of its own, which a second run would repeat."""

    def choose(self, seen: Actions) -> Actions:
        return self.rng.uniform(-1, 1, (len(seen), 1))


class Counts(Asked):
    """Plays otherwise after its first ten episodes."""

    def choose(self, seen: Actions) -> Actions:
        return np.full((len(seen), 1), float(self.episodes > 10))


class Mixes(Asked):
    """An action depends on the whole batch, as a network's last bits do, and on nothing else."""

    def choose(self, seen: Actions) -> Actions:
        return np.full((len(seen), 1), np.sin(seen.sum()) / len(seen))


class Scribbles(Asked):
    """Writes into what it was shown."""

    def choose(self, seen: Actions) -> Actions:
        if seen.flags.writeable:
            seen += 1.0
        return np.sin(seen[:, :1])


class Leaves(Asked):
    """Fails where it is asked more than was planned."""

    def choose(self, seen: Actions) -> Actions:
        if self.episodes > 60:
            raise RuntimeError("that is too much")
        return super().choose(seen)


def many(**parameters: Any) -> Plan:
    """Sixty episodes, four at once."""
    return corridor_plan(solved={"walk": [0]}, slots=4, num_episodes=60, **parameters)


@pytest.mark.parametrize("agent", [Draws(), Counts()])
def test_a_frozen_agent_that_does_not_answer_alike_is_named(tmp_path: Path, agent: Asked) -> None:
    result = play(tmp_path / "run", many(), agent)
    assert result.complete
    assert [(each.who, each.repeatable) for each in result.repeats] == [
        ("environment", True),
        ("agent", False),
    ]
    assert result.repeatable is False
    assert "turn 1, slot 0: action was" in result.repeats[1].what
    [line] = [each for each in notes(result) if each.startswith("not repeatable")]
    assert "because of the agent" in line
    assert read_result(tmp_path / "run").repeats == result.repeats
    assert agent.cleanups == 1


@pytest.mark.parametrize("agent", [Mixes(), Scribbles(), Seeded()])
@pytest.mark.parametrize("slots", [1, 4, 60])
def test_one_that_answers_alike_is_not(tmp_path: Path, agent: Agent, slots: int) -> None:
    plan = corridor_plan(solved={"walk": [0]}, slots=slots, num_episodes=60)
    result = play(tmp_path / "run", plan, agent)
    assert [(each.who, each.repeatable) for each in result.repeats] == [
        ("environment", True),
        ("agent", True),
    ]


@pytest.mark.parametrize(("name", "repeatable"), [("Seeded", True), ("Unseeded", False)])
def test_programs_are_asked_too(tmp_path: Path, name: str, repeatable: bool) -> None:
    one = play(tmp_path / "one", many(), f"{AGENTS}:{name}")
    assert [each.repeatable for each in one.repeats] == [True, repeatable]
    copies = play(tmp_path / "copies", many(agents=2), f"{AGENTS}:{name}", processes=2)
    assert [each.repeatable for each in copies.repeats] == [True, repeatable]


def test_an_environment_is_not_blamed_for_its_agent_nor_the_other_way_round(
    tmp_path: Path,
) -> None:
    way = "random observation"
    alike = play(tmp_path / "alike", unrepeatable(way), Mixes())
    assert [each.repeatable for each in alike.repeats] == [False, True]
    both = play(tmp_path / "both", unrepeatable(way), Draws())
    assert [each.repeatable for each in both.repeats] == [False, False]


@pytest.mark.parametrize("procedure", ["meta-learning", "online"])
def test_an_agent_that_learns_is_not_asked_again(tmp_path: Path, procedure: str) -> None:
    plan = corridor_plan(procedure, slots=1 if procedure == "online" else 2)
    result = play(tmp_path / "run", plan, Seeded())
    assert [each.who for each in result.repeats] == ["environment"]


def test_it_is_asked_one_turn_of_a_hundred_again_or_twenty_rows(tmp_path: Path) -> None:
    asked = [Asked(), Asked()]
    for agent, check in zip(asked, (False, True), strict=True):
        play(tmp_path / str(check), many(), agent, repeat_check=check)
    assert asked[1].rows - asked[0].rows == 20


def test_a_paced_agent_is_not_asked_again(tmp_path: Path) -> None:
    """Its answers may come too late, and defaults are played then."""
    plan = corridor_plan(solved={"walk": [0]}, slots=2, num_episodes=3)
    result = play(tmp_path / "run", plan, Asked(), turn_every=0.001)
    assert [each.who for each in result.repeats] == ["environment"]


def test_one_that_is_lost_when_it_is_asked_again_has_played_all(tmp_path: Path) -> None:
    result = play(tmp_path / "run", many(), Leaves())
    assert result.complete
    assert result.ended_early is None
    assert [each.repeatable for each in result.repeats] == [True, None]
    assert "that is too much" in result.repeats[1].what
    assert result.repeatable is None


class Trains(Asked):
    """Acts by how much it has learned, and draws until it is frozen."""

    def agent_init(self, spec: TaskSpec) -> None:
        super().agent_init(spec)
        self.learned, self.is_frozen = 0.0, False

    def agent_end(self, rewards: Actions, observations: Arrays, ends: Ends) -> None:
        self.learned += (not self.is_frozen) / 10

    def agent_freeze(self) -> None:
        self.is_frozen = True

    def choose(self, seen: Actions) -> Actions:
        noise = 0.0 if self.is_frozen else self.rng.uniform()
        return np.full((len(seen), 1), np.sin(self.learned + noise))


def test_an_agent_that_has_trained_is_asked_what_it_was_judged_by() -> None:
    options: dict[str, Any] = {"environment_args": {"solved": {"a": [0, 3]}}, "workers": 0}
    result = evaluate(
        "multi-task:tests.worlds:Corridor",
        agent=Trains(),
        train_steps=60,
        eval_every=30,
        slots=2,
        num_episodes=10,
        **options,
    )
    assert result.training is not None
    assert [(each.who, each.repeatable) for each in result.repeats] == [
        ("environment", True),
        ("agent", True),
    ]

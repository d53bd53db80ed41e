"""Glue: RL-Glue in a Python program, with peers of every kind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from env_adapters.suites import suite_name
from glue_server import Glue
from reglue import connect
from reglue.errors import NotAnEnvironment, OutOfDomain, UnknownKey, UsageError
from tests.error_facts import raises
from tests.glue_server.drifters import Drifter
from tests.glue_server.playing import SOLVED, Follower
from tests.glue_server.routines.lab import Actor, Lab
from tests.worlds import Corridor

PATIENCE_S = 60.0


def rewards_of(rl: Glue, steps: int) -> list[float]:
    rl.init()
    rl.start()
    return [rl.step().rewards.item() for _ in range(steps)]


# Programs.


def test_the_concepts_pages_benchmark_runs_as_written() -> None:
    """RL_benchmark: 100 runs of 1000 episodes there, few here."""
    with Glue(environment=Corridor(solved={"walk": [0]}), agent=Follower()) as rl:
        performance = 0.0
        for _run in range(3):
            rl.init()
            total = 0.0
            for _episode in range(4):
                rl.episode(10000000)
                total = total + rl.return_(1.0)
            performance = performance + total / 4.0
            rl.cleanup()
        assert 4.0 < performance / 3.0 < 6.0  # five steps of 1, and a tenth of its actions


def test_another_discount_is_refused() -> None:
    with (
        Glue(environment=Lab(), agent=Actor()) as rl,
        raises(OutOfDomain, got="RL_return(0.9)"),
    ):
        rl.return_(0.9)


def test_a_trajectory_is_rl_glue_1s_list() -> None:
    """o0, a0, r1, o1, a1, …, rT: what RL_episode of 1.0 returns, less the terminal observation."""
    with Glue(environment=Corridor(solved={"walk": [0]}, horizon=3), agent=Follower()) as rl:
        rl.init()
        whole = rl.episode_trajectory(10)
        assert whole.observations["observation"][:, 0].tolist() == [0.0, 1.0, 2.0]
        assert (len(whole.actions["action"]), len(whole.rewards)) == (3, 3)
        assert (whole.terminated, whole.truncated) == (False, True)
        cut = rl.episode_trajectory(2)
        assert cut.observations["observation"][:, 0].tolist() == [0.0, 1.0, 2.0]
        assert (len(cut.actions["action"]), len(cut.rewards)) == (3, 2)
        assert (cut.terminated, cut.truncated) == (False, False)


SCRIPT = """
from glue_server import Glue
with Glue(environment="mountain-car", agent="drifter.py:Drifter") as rl:
    rl.init()
    for _ in range(3):
        rl.episode(10)
        print(rl.num_steps(), rl.return_())
    rl.freeze(); rl.cleanup()
"""


def test_a_plain_script_runs_without_a_guard(drifter: str) -> None:
    folder = Path(drifter).parent
    (folder / "benchmark.py").write_text(SCRIPT, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "benchmark.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == ["10 -9.0"] * 3


# Agents of every kind.


def test_an_agent_in_a_process_of_its_own_plays_the_same_bits(drifter: str) -> None:
    with Glue(environment="mountain-car", agent=Drifter(), seed=3) as rl:
        alone = rewards_of(rl, 20)
        rl.start()
        state = rl.step().observations["observation"].tobytes()
    with Glue(environment="mountain-car", agent=f"{drifter}:Drifter", seed=3) as rl:
        assert rewards_of(rl, 20) == alone
        rl.start()
        assert rl.step().observations["observation"].tobytes() == state


def test_arguments_reach_an_agent_as_what_they_are(drifter: str) -> None:
    with Glue(environment=Lab(), agent=f"{drifter}:Drifter", agent_args={"word": "3"}) as rl:
        assert rl.agent_message("hi") == "3: hi"


def test_an_agent_that_dials_in_is_waited_for() -> None:
    heard: list[str] = []
    with ThreadPoolExecutor(1) as threads:

        def announce(words: str) -> None:
            heard.append(words)
            address = words.split()[-3]
            threads.submit(connect, Actor(), address, "secret")

        with Glue(environment=Lab(), agent="127.0.0.1:0", token="secret", announce=announce) as rl:
            rl.init()
            assert rl.start().actions["push"].tolist() == [[0.5]]
    assert "reglue join my_agent.py:MyAgent --address 127.0.0.1:" in heard[0]


def test_an_environment_that_dials_in_is_waited_for() -> None:
    with ThreadPoolExecutor(1) as threads:

        def announce(words: str) -> None:
            address = words.split()[-3]
            threads.submit(connect, Lab(), address, "secret")

        with Glue(
            environment="127.0.0.1:0", agent=Actor(), token="secret", announce=announce
        ) as rl:
            rl.init()
            rl.start()
            assert rl.step().rewards.tolist() == [0.5]


def test_an_object_written_for_meta_world_plays() -> None:
    class Upstream:
        def eval_action(self, observations: Any) -> Any:
            return np.zeros((len(observations), 1))

        def reset(self, env_mask: Any) -> None:
            pass

    with Glue(environment=Corridor(solved=SOLVED), agent=Upstream()) as rl:
        rl.init()
        assert rl.episode() is True


# Environments of every kind.


@pytest.mark.parametrize(
    "make", [lambda: "mountain-car", lambda: suite_name("mountain-car").build()]
)
def test_an_environment_is_a_name_or_a_suite(make: Callable[[], object]) -> None:
    with Glue(environment=make(), agent=Drifter()) as rl:
        assert rewards_of(rl, 3) == [-1.0, -1.0, -1.0]


def test_an_environment_is_what_a_function_makes() -> None:
    def make(limit: int) -> Any:
        return gymnasium.wrappers.TimeLimit(gymnasium.make("MountainCar-v0"), limit)

    with Glue(environment=partial(make, 2), agent=Drifter(), slots=2) as rl:
        rl.init()
        rl.episode()
        assert [rl.num_steps(slot=slot) for slot in (0, 1)] == [2, 2]
    with Glue(environment=make, agent=Drifter(), environment_args={"limit": 3}) as rl:
        rl.init()
        rl.episode()
        assert rl.num_steps() == 3


@pytest.mark.parametrize(
    ("given", "named"),
    [(3, "3"), (Drifter, "the class Drifter"), (lambda: Drifter, "the class Drifter"), ([], "[]")],
)
def test_what_is_no_environment_is_refused(given: object, named: str) -> None:
    with (
        raises(NotAnEnvironment, "gymnasium:CartPole-v1", "function", got=named),
        Glue(environment=given, agent=Actor()),
    ):
        pass


def test_arguments_are_for_what_is_made() -> None:
    with (
        raises(UsageError, "environment_args", got="{'limit': 3} for an object"),
        Glue(environment=Lab(), agent=Actor(), environment_args={"limit": 3}),
    ):
        pass


def test_arguments_reach_an_environment() -> None:
    arguments = {"solved": {"walk": [0]}, "horizon": 2}
    with Glue(
        environment="tests.worlds:Corridor", agent=Follower(), environment_args=arguments
    ) as rl:
        assert rl.init().horizon == 2


@pytest.mark.parametrize("name", ["mountain-car", "access-control"])
def test_environments_in_workers_play_the_same_bits(name: str) -> None:
    """Whole steps, half steps, standardized randomness, and a second run."""
    told = []
    for workers in (0, 2):
        with Glue(environment=name, agent=Drifter(), slots=3, workers=workers, seed=5) as rl:
            told.append([*_played(rl), *_played(rl, standard=7)])
    assert told[0] == told[1]


def _played(rl: Glue, standard: int | None = None) -> list[Any]:
    """Everything that a program is told, as bytes."""
    told: list[Any] = [rl.init()]
    if standard is not None:
        rl.standardize_randomness(standard)
    steps: list[Any] = [rl.start(), *(rl.step() for _ in range(5))]
    steps.append(rl.env_step(steps[-1].actions, slots=[0, 1, 2]))
    for step in steps:
        told += [rows.tobytes() for rows in step.observations.values()]
        told.append(getattr(step, "rewards", np.zeros(0)).tobytes())
    rl.episode(20)
    told += [float(rl.return_(slot=slot)).hex() for slot in range(3)]
    rl.cleanup()
    return told


def test_a_state_goes_on_in_a_slot_of_another_worker() -> None:
    told = []
    for workers in (0, 2):
        with Glue(environment="gridworld", agent=Drifter(), slots=2, workers=workers) as rl:
            rl.init()
            actions = {name: rows[:1] for name, rows in rl.start().actions.items()}
            rl.set_state(rl.get_state(0), 1)
            told.append([bits(rl.env_step(actions, [slot])) for slot in (0, 1)])
    assert told[0] == told[1]
    assert told[0][0] == told[0][1]


def test_what_workers_cannot_build_is_said_by_init() -> None:
    with (
        Glue(environment="tests.worlds:Unbuildable", agent=Drifter(), workers=1) as rl,
        raises(UsageError, "tests.worlds:Unbuildable", "OSError: the plans are lost"),
    ):
        rl.init()


def test_workers_play_what_has_a_name() -> None:
    for made in (Lab(), "127.0.0.1:0"):
        with (
            raises(UsageError, "workers", "name"),
            Glue(environment=made, agent=Actor(), workers=2),
        ):
            pass


def test_slots_are_as_many_as_were_asked_for() -> None:
    with Glue(environment=Lab(), agent=Actor(), slots=4) as rl:
        assert rl.init().slots == 4
        assert rl.start().actions["push"].shape == (4, 1)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize(
    "name", ["gridworld", "mountain-car", "access-control", "cart-pole", "acrobot"]
)
def test_a_state_goes_on_to_the_bit_in_another_slot_and_run(name: str, slots: int) -> None:
    """Its later observations, rewards and flags, under the same actions."""
    with Glue(environment=name, agent=Drifter(), slots=slots) as rl:
        rl.init()
        rl.episode(4)
        key = rl.get_state(0)
        actions = {name: rows[:1] for name, rows in rl.start().actions.items()}
        rl.set_state(key, 0)
        after = [bits(rl.env_step(actions, [0])) for _ in range(5)]
        rl.init()
        rl.set_state(key, slots - 1)
        assert [bits(rl.env_step(actions, [slots - 1])) for _ in range(5)] == after


def bits(stepped: Any) -> list[Any]:
    observations = [rows.tobytes() for rows in stepped.observations.values()]
    flags = stepped.terminated.item(), stepped.truncated.item(), stepped.success.item()
    return [observations, stepped.rewards.tobytes(), flags]


def test_keys_of_another_glue_are_unknown() -> None:
    with (
        Glue(environment="gridworld", agent=Drifter()) as one,
        Glue(environment="gridworld", agent=Drifter()) as other,
    ):
        for rl in (one, other):
            rl.init()
            rl.start()
        with raises(UnknownKey, "state-1"):
            other.set_state(one.get_state())


def test_standardized_randomness_is_the_same_whatever_was_played_before() -> None:
    def first(before: int) -> list[Any]:
        with Glue(environment="mountain-car", agent=Drifter(), seed=before) as rl:
            rl.init()
            for _ in range(before):
                rl.start()
            rl.standardize_randomness(7)
            return [bits_of(rl.start()) for _ in range(3)]

    assert first(0) == first(4)


def bits_of(started: Any) -> list[bytes]:
    return [rows.tobytes() for rows in started.observations.values()]

"""Failures are raised, or stand in the result's text: they are no scores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import reglue
from reglue.errors import (
    AgentFault,
    AgentTimeout,
    BadArgument,
    EnvironmentFault,
    ReglueError,
    UsageError,
)
from reglue.messages.agent_messages import Actions
from reglue_bench.engines.ray.ray_players import RayPlayers
from reglue_bench.evaluation import check_faults
from reglue_bench.results.result import Result, read_result
from reglue_bench.runs.notes import Ending
from reglue_bench.terminal.summary import notes
from tests.error_facts import assert_named, raises
from tests.reglue_bench.toys import Interrupts

CART_POLE = "evaluate:gymnasium:CartPole-v1"


class Breaks(gymnasium.Env[Any, Any]):
    """Fails at its third step, after some sound episodes."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, sound: int = 0) -> None:
        self.sound = sound  # episodes before it breaks

    def reset(self, **_: Any) -> Any:
        self.steps, self.sound = 0, self.sound - 1
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps == 3 and self.sound < 0:
            raise ZeroDivisionError("the physics exploded")
        return np.zeros(2, np.float32), 1.0, self.steps == 4, False, {}


def test_a_cluster_that_is_not_there_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(players: RayPlayers[Any]) -> None:
        """As without a cluster, of which Ray's process has written something."""
        Path(players._connect.log).write_text("no cluster")
        raise UsageError("got no Ray cluster")

    monkeypatch.setattr(RayPlayers, "open", fails)
    with pytest.raises(UsageError):
        reglue.evaluate(
            "evaluate:mountain-car", agent="random", engine="ray", agents=2, out=tmp_path / "a/b"
        )
    assert not [*tmp_path.iterdir()]


def zeros(observations: Any) -> Any:
    return np.zeros(len(observations), np.int64)


def fails(_observations: Any) -> Any:
    raise KeyError("coffee")


class GivesUp(reglue.Agent):
    def turn(self, turn: Any) -> Any:
        slots = [*turn.steps.slots, *turn.starts.slots]
        return Actions({"action": np.zeros(len(slots), np.int64)}, abandon=tuple(turn.steps.slots))


def play(benchmark: Any, agent: Any, **options: Any) -> Result:
    return reglue.evaluate(benchmark, agent=agent, **{"num_episodes": 3, **options})


@pytest.mark.parametrize(
    ("benchmark", "agent", "kind", "cause"),
    [
        (Breaks, zeros, EnvironmentFault, "ZeroDivisionError: the physics exploded"),
        (CART_POLE, fails, AgentFault, "KeyError: 'coffee'"),
    ],
    ids=["environment", "agent"],
)
def test_a_fault_is_raised_with_its_cause(
    benchmark: Any, agent: Any, kind: type[ReglueError], cause: str
) -> None:
    with raises(kind, cause):
        play(benchmark, agent)


def test_the_traceback_of_an_environment_is_in_the_notes_of_the_error() -> None:
    with pytest.raises(EnvironmentFault) as caught:
        play(Breaks, zeros)
    assert 'raise ZeroDivisionError("the physics exploded")' in caught.value.__notes__[0]


def test_an_evaluator_raises_and_goes_on() -> None:
    with reglue.Evaluator(CART_POLE, num_episodes=2, workers=0) as evaluator:
        with raises(AgentFault, "agent_error", "'coffee'"):
            evaluator(fails)
        assert evaluator(fails, raise_faults=False).faults
        assert evaluator(zeros).complete


def test_without_raising_the_text_names_each_fault() -> None:
    """An environment that fails by the same actions again is a failure: that is a score."""
    result = play(Breaks, zeros, raise_faults=False)
    assert str(result).splitlines()[1:] == ["3 × crashed: ZeroDivisionError: the physics exploded"]
    assert result.complete
    assert any("3 crashed, of 3 episodes" in line for line in notes(result))


def test_what_counts_as_a_failure_is_complete_and_not_partial() -> None:
    result = play(CART_POLE, fails, raise_faults=False, workers=0)
    assert (result.complete, result.status_counts) == (True, {"agent_error": 3})
    assert str(result).splitlines()[1:] == ["3 × agent_error: KeyError: 'coffee'"]
    assert not any(line.startswith("PARTIAL") for line in notes(result))
    assert any("3 agent_error, of 3 episodes" in line for line in notes(result))


def test_an_episode_that_the_agent_gives_up_is_a_score() -> None:
    result = play(CART_POLE, GivesUp(), workers=0)
    assert result.complete
    assert "agent_abandoned" in str(result)


class Unseeded(Breaks):
    """Draws its rewards from nobody's seed, and succeeds."""

    def step(self, action: Any) -> Any:
        self.steps += 1
        reward = float(np.random.default_rng().normal())
        return np.zeros(2, np.float32), reward, self.steps == 4, False, {"is_success": True}


def test_the_text_says_what_the_command_does() -> None:
    """Of what cannot be repeated, and of an interval over one goal."""
    result = play(f"multi-task:{__name__}:Unseeded", zeros, workers=0)
    one_goal, not_repeatable = str(result).splitlines()[1:]
    assert_named(["1 goal", f"evaluate:{__name__}:Unseeded"], one_goal)
    assert_named(["not repeatable", "environment", "reward"], not_repeatable)
    assert {one_goal, not_repeatable} <= {*notes(result)}
    assert len(str(play(Unseeded, zeros)).splitlines()) == 2  # its episodes count, each


def test_the_text_of_an_interrupted_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(CART_POLE, zeros, watcher=Interrupts(1), out=tmp_path, workers=0)
    result = read_result(tmp_path)
    assert "interrupted" in str(result).splitlines()[-1]
    assert str(result).splitlines()[-1] in notes(result)


def test_an_agent_that_is_lost_between_episodes_is_raised_too() -> None:
    whole = play(CART_POLE, zeros, workers=0)
    ending = Ending(status=AgentTimeout.status, what="the agent did not answer within 9 s")
    with raises(AgentTimeout, "agent_timeout", "9 s"):
        check_faults(whole.model_copy(update={"ended_early": ending}))


def test_a_function_of_one_observation_is_told_that_they_come_in_batches() -> None:
    with pytest.raises(AgentFault) as caught:
        play(CART_POLE, lambda seen: int(seen[2] > 0), workers=0)
    assert "batch, (3, 4)" in str(caught.value)


def test_the_agent_stands_second() -> None:
    assert reglue.evaluate(CART_POLE, zeros, num_episodes=1, workers=0).complete


@pytest.mark.parametrize(
    "benchmark", [CART_POLE, Breaks, Breaks()], ids=["name", "class", "object"]
)
def test_the_order_of_stable_baselines3_is_refused(benchmark: Any) -> None:
    with raises(BadArgument, "evaluate(benchmark, agent)"):
        reglue.evaluate(zeros, benchmark)


SCRIPT = """
import gymnasium, numpy as np, reglue

class Mine(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_):
        return 0, {}

    def step(self, action):
        return 0, 1.0, True, False, {}

class Still(reglue.Agent):
    def turn(self, turn):
        return np.zeros(len(turn.steps) + len(turn.starts), np.int64)

"""


@pytest.mark.parametrize(
    "asked",
    [
        "'evaluate:mine.py:Mine', agent='random', workers=1",
        "'evaluate:mine:Mine', agent='random', workers=1",
        "'evaluate:gymnasium:CartPole-v1', agent='mine.py:Still', workers=0",
    ],
    ids=["file", "module", "agent"],
)
def test_a_script_that_evaluates_what_it_defines_is_told_to_guard_it(
    tmp_path: Path, asked: str
) -> None:
    line = f"print(reglue.evaluate({asked}, num_episodes=1))\n"
    done = script(tmp_path, SCRIPT + line)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert '`if __name__ == "__main__":`' in last
    done = script(tmp_path, f"{SCRIPT}\nif __name__ == '__main__':\n    {line}")
    assert done.returncode == 0, done.stderr


def script(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(code)
    command = [sys.executable, "mine.py"]
    return subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=120
    )

"""An agent that says it cannot play what is asked is refused before the first step."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import reglue
from reglue.errors import NotAnAgent, NotCapable, UsageError
from reglue_bench import Evaluator
from reglue_bench.plans.plan import Plan
from reglue_bench.run_folder import LEDGER
from tests.error_facts import raises
from tests.reglue_bench.agents import Breaks, Frozen, Refuses
from tests.reglue_bench.benching import bench_words, commanded
from tests.reglue_bench.toys import corridor_plan, joining, online_plan, play

pytestmark = pytest.mark.slow

INCAPABLE = [
    ("Frozen", corridor_plan("meta-learning"), NotCapable, "adapt"),
    ("Endless", corridor_plan(), NotCapable, "end of an episode"),
    ("Endless", online_plan(), UsageError, "end of an episode"),
    ("Single", corridor_plan(), NotCapable, "at most 1 slots"),
]


class Model:
    """Trained on a task of three numbers and four actions, as one of Stable-Baselines3."""

    observation_space: Any = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space: Any = gymnasium.spaces.Discrete(4)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> Any:
        raise AssertionError("it is not asked")


def is_vacant(folder: Path) -> bool:
    """Whether a folder holds neither a run nor a result."""
    return not [*folder.rglob(LEDGER), *folder.rglob("result.json")]


@pytest.mark.parametrize(("name", "plan", "kind", "words"), INCAPABLE)
def test_a_program_whose_hello_says_so_is_refused_and_leaves_no_run(
    tmp_path: Path, name: str, plan: Plan, kind: type[UsageError], words: str
) -> None:
    with raises(kind, name, words):
        play(tmp_path / "run", plan, agent_cmd=joining(name))
    assert not [*tmp_path.iterdir()]  # nor a log


def test_it_is_told_why(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    program = shlex.quote(f"exec {joining('Frozen')} > {printed} 2>&1")
    with pytest.raises(NotCapable):
        play(tmp_path / "run", corridor_plan("meta-learning"), agent_cmd=f"sh -c {program}")
    assert "cannot adapt" in printed.read_text()


def test_also_where_other_processes_play(tmp_path: Path) -> None:
    with raises(UsageError, "Endless", "end of an episode"):
        play(tmp_path / "run", online_plan(), agent_cmd=joining("Endless"), processes=2)
    assert is_vacant(tmp_path)


def test_an_object_is_refused_too_once_and_in_the_words_of_its_language(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with raises(NotCapable, "Frozen", "adapts = True") as refused:
        play(tmp_path / "run", corridor_plan("meta-learning"), Frozen())
    assert "Julia" not in str(refused.value)
    assert is_vacant(tmp_path)
    assert not caplog.records


@pytest.mark.parametrize("plan", [corridor_plan(), online_plan()], ids=["evaluated", "online"])
@pytest.mark.parametrize("is_object", [False, True])
def test_an_agent_that_refuses_the_task_in_agent_init_leaves_no_run(
    tmp_path: Path, plan: Plan, is_object: bool, caplog: pytest.LogCaptureFixture
) -> None:
    agent = {"agent": Refuses()} if is_object else {"agent_cmd": joining("Refuses")}
    with pytest.raises(UsageError, match="Refuses cannot play this: got 1 tensors, wanted none"):
        play(tmp_path / "run", plan, **agent)
    assert is_vacant(tmp_path)
    assert not caplog.records


def test_a_bug_in_agent_init_is_a_fault_and_shows_where_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = play(tmp_path / "run", corridor_plan(), Breaks())
    assert result.ended_early is not None
    assert result.ended_early.status == "agent_error"
    [record] = caplog.records
    frames = [line for line in record.getMessage().splitlines() if "File" in line]
    assert len(frames) == 1
    assert "agents.py" in frames[0]


@pytest.mark.parametrize(
    ("agent", "words"), [("Endless", "takes no end of an episode"), ("Refuses", "got 1 tensors")]
)
def test_a_command_says_so_in_one_sentence_as_wrong_usage(
    tmp_path: Path, agent: str, words: str
) -> None:
    command_line = bench_words(tmp_path / "run", "Corridor", agent=agent, episodes=2)
    with commanded(command_line) as command:
        code, said = command.ended()
    assert code == 2, said
    assert len([line for line in said.splitlines() if words in line]) == 1
    assert "Traceback" not in said
    assert is_vacant(tmp_path)


@pytest.mark.parametrize("is_object", [False, True])
def test_a_model_of_other_observations_is_refused(tmp_path: Path, is_object: bool) -> None:
    benchmark = gymnasium.make("CartPole-v1") if is_object else "evaluate:gymnasium:CartPole-v1"
    with raises(NotAnAgent, "observation", (3,), (4,)):
        reglue.evaluate(benchmark, agent=Model(), num_episodes=1, out=tmp_path / "run")
    assert is_vacant(tmp_path)


@pytest.mark.parametrize(
    "space", [gymnasium.spaces.Discrete(4), gymnasium.spaces.Box(-1, 1, (2,), np.float32)]
)
def test_a_model_of_other_actions_is_refused(space: Any) -> None:
    class Other(Model):
        observation_space = gymnasium.make("CartPole-v1").observation_space
        action_space = space

    with (
        Evaluator("evaluate:gymnasium:CartPole-v1", num_episodes=1) as evaluator,
        raises(NotAnAgent, "action", space, "Discrete(2)"),
    ):
        evaluator(Other())

"""Goal environments as benchmarks: success by goal, goals that are seen and goals that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.results.result import Result
from tests.error_facts import raises

AGENT = """
import numpy as np
from reglue import Agent

class Walker(Agent):
    "Goes to the goal that it is shown, or stays."

    def agent_start(self, observations, starts):
        return self.chosen(observations, starts.slots)

    def agent_step(self, rewards, observations, steps):
        return self.chosen(observations, steps.slots)

    def chosen(self, observations, slots):
        here = observations["observation"][:, :3]
        if not any("goal" in tensor.name for tensor in self.spec.observations):
            return np.zeros((len(slots), *self.spec.actions[0].shape))
        goals = [self.get_goal(int(slot))["desired_goal"] for slot in slots]
        way = np.zeros((len(slots), *self.spec.actions[0].shape))
        way[:, : here.shape[1]] = np.clip((np.array(goals) - here) * GAIN, -1, 1)
        return way
"""


def played(folder: Path, name: str, gain: float = 1.0, **arguments: Any) -> Result:
    """By an agent in a process of its own."""
    agent = folder / "walker.py"
    agent.write_text(AGENT.replace("GAIN", str(gain)))
    benchmark = f"multi-task:gymnasium:{name}"
    chosen: dict[str, Any] = {"agent": f"{agent}:Walker", "num_episodes": 6, "workers": 1}
    return evaluate(benchmark, environment_args={"goals": 6, **arguments}, **chosen)


@pytest.mark.parametrize(("name", "gain"), [("Reglue/Point2D-v0", 1), ("FetchReach-v4", 8)])
def test_an_agent_that_sees_the_goals_reaches_each(tmp_path: Path, name: str, gain: float) -> None:
    result = played(tmp_path, name, gain)
    assert result.success_rate_per_task == {name: 1.0}
    assert result.coverage.goals_planned == 6
    assert {episode.variant for episode in result.episodes} == set(range(6))


def test_a_goal_that_is_not_seen_is_hidden(tmp_path: Path) -> None:
    hidden = played(tmp_path, "Reglue/Point2D-v0", sees=["observation"])
    assert hidden.complete
    assert hidden.success_rate_per_task["Reglue/Point2D-v0"] < 1


def test_without_goals_to_set_nothing_begins(tmp_path: Path) -> None:
    with raises(UsageError, "FrankaKitchen-v1", "tasks_to_complete"):
        played(tmp_path, "FrankaKitchen-v1")

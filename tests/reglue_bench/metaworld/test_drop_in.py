"""The drop-in for `metaworld.evaluation`, as a program written for that finds it."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym
import metaworld.evaluation
import numpy as np
import pytest

import reglue_bench.metaworld as drop_in
from reglue.errors import UsageError
from tests.error_facts import raises
from tests.reglue_bench.metaworld.metaworld_vector_envs import (
    Experts,
    meta_learning,
    multi_task,
    standing,
)

pytestmark = pytest.mark.slow

COUNTS: dict[str, Any] = {
    "num_evals": 3,
    "adaptation_steps": 2,
    "adaptation_episodes": 1,
    "evaluation_episodes": 1,
}
upstream: Any = metaworld.evaluation  # its signatures know no wrappers


class Adapting(Experts, drop_in.MetaLearningAgent):
    """An expert that derives from the protocol, and counts its calls."""

    def count(self, name: str) -> int:
        return sum(call[0] == name for call in self.calls)


class GoalsShown(gym.vector.VectorWrapper[Any, Any, Any, Any, Any]):
    """Shows the goal from the first step on, as experts need it."""

    env: Any

    def get_attr(self, name: str) -> Any:
        return self.env.get_attr(name)

    def set_attr(self, name: str, values: Any) -> None:
        self.env.set_attr(name, values)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self.env.call(name, *args, **kwargs)

    def step(self, actions: Any) -> Any:
        self.env.set_attr("_partially_observable", False)
        return super().step(actions)


def test_every_name_of_upstreams_module_is_there() -> None:
    names = {
        name
        for name, value in vars(upstream).items()
        if getattr(value, "__module__", None) == "metaworld.evaluation"
    }
    assert names == {"Agent", "MetaLearningAgent", "Timestep", "evaluation"} | {
        "metalearning_evaluation",
        "_get_task_names",
    }
    assert names <= set(vars(drop_in))
    assert drop_in.Timestep._fields == upstream.Timestep._fields


@pytest.mark.parametrize("name", ["evaluation", "metalearning_evaluation"])
def test_arguments_and_defaults_are_upstreams(name: str) -> None:
    def positional(module: Any) -> list[tuple[str, Any]]:
        parameters = inspect.signature(getattr(module, name)).parameters.values()
        return [(each.name, each.default) for each in parameters if each.kind != each.KEYWORD_ONLY]

    assert positional(drop_in) == positional(upstream)


def test_task_names_are_upstreams_through_wrappers_too() -> None:
    envs = multi_task()
    names = upstream._get_task_names(envs)
    assert drop_in._get_task_names(envs) == drop_in._get_task_names(GoalsShown(envs)) == names
    envs.close()


def test_an_agent_of_the_protocol_adapts_as_often_as_it_is_asked_to() -> None:
    envs = meta_learning()
    agent = Adapting(envs)
    success, returns, by_task = drop_in.metalearning_evaluation(agent, envs, **COUNTS, workers=0)
    assert (type(success), type(returns)) == (float, float)
    assert by_task.keys() == set(drop_in._get_task_names(envs))
    assert success >= 0.8
    assert agent.count("adapt") == 3 * 2
    assert agent.count("step") == 3 * 2 * 1 * 60  # steps of an episode
    envs.close()


def test_a_wrapper_of_ones_own_gives_upstreams_numbers_and_says_that_it_takes_longer() -> None:
    theirs, ours = GoalsShown(meta_learning()), GoalsShown(meta_learning())
    agents = [Adapting(theirs), Adapting(ours)]
    wanted = upstream.metalearning_evaluation(agents[0], theirs, **COUNTS)
    with pytest.warns(drop_in.SlowEvaluation, match="got GoalsShown, wanted a SyncVectorEnv"):
        got = drop_in.metalearning_evaluation(agents[1], ours, **COUNTS)
    assert got == wanted
    assert standing(ours) == standing(theirs)
    with pytest.warns(drop_in.SlowEvaluation, match="GoalsShown"):
        again = drop_in.evaluation(agents[1], ours, 1)
    assert again == upstream.evaluation(agents[0], theirs, 1)
    theirs.close()
    ours.close()


def test_a_wrapper_that_upstream_cannot_ask_is_refused_by_name() -> None:
    envs = gym.wrappers.vector.RecordEpisodeStatistics(multi_task())
    with raises(UsageError, "RecordEpisodeStatistics", "call, get_attr, set_attr"):
        drop_in.evaluation(Experts(envs.env), envs, 1)
    envs.close()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"reward_normalization_method": "gymnasium"}, "NormalizeReward"),
        ({"reward_function_version": "v1"}, "reward_function_version 'v1'"),
    ],
)
def test_what_cannot_be_read_is_named_and_played_by_upstream(
    options: dict[str, Any], found: str
) -> None:
    theirs, ours = multi_task(**options), multi_task(**options)
    wanted = upstream.evaluation(Experts(theirs), theirs, 1)
    with pytest.warns(drop_in.SlowEvaluation, match=found):
        assert drop_in.evaluation(Experts(ours), ours, 1) == wanted
    assert standing(ours) == standing(theirs)
    theirs.close()
    ours.close()


def test_actions_are_of_one_row_a_sub_environment() -> None:
    """Of a protocol's own methods that were not overridden nothing is expected."""
    envs = multi_task()

    class Still(drop_in.Agent):
        def eval_action(self, observations: Any) -> Any:
            return np.zeros((len(observations), 4), np.float32)

        def reset(self, env_mask: Any) -> None:
            assert env_mask.shape == (3,)

    assert drop_in.evaluation(Still(), envs, 1, workers=0)[0] == 0
    envs.close()

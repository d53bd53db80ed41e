"""Our evaluation against `metaworld.evaluation.evaluation`, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import metaworld.evaluation
import numpy as np
import pytest

from reglue.agents.agent import Agent
from reglue.errors import NotAnAgent, UsageError
from reglue_bench.metaworld import evaluation, metalearning_evaluation
from tests.error_facts import raises
from tests.leftovers import child_processes
from tests.reglue_bench.metaworld.metaworld_vector_envs import (
    Experts,
    meta_learning,
    multi_task,
    one_task,
    same_calls,
    standing,
)

pytestmark = pytest.mark.slow

EPISODES = 3


@contextmanager
def closed(*vector_envs: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for envs in vector_envs:
            envs.close()


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({}, np.float64),
        ({"use_one_hot": True}, np.float32),
        ({"recurrent_info_in_obs": True}, np.float32),
    ],
    ids=str,
)
def test_multi_task_numbers_are_upstreams(options: dict[str, Any], dtype: Any) -> None:
    """Also after it: the environments draw what they would have drawn."""
    theirs, ours = multi_task(**options), multi_task(**options)
    with closed(theirs, ours):
        agents = [Experts(each, dtype) for each in (theirs, ours)]
        for _ in range(2):
            wanted = metaworld.evaluation.evaluation(agents[0], theirs, EPISODES)
            got = evaluation(agents[1], ours, EPISODES, workers=0, surplus=True)
            assert got == wanted
            assert same_calls(agents[1].calls, agents[0].calls)
            assert standing(ours) == standing(theirs)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Gymnasium's own, of what Meta-World shows
def test_mt1_is_read_too() -> None:
    theirs, ours = one_task(), one_task()
    with closed(theirs, ours):
        agents = [Experts(each, np.float64) for each in (theirs, ours)]
        wanted = metaworld.evaluation.evaluation(agents[0], theirs, 1)
        assert evaluation(agents[1], ours, 1, workers=0, surplus=True) == wanted


def test_what_cannot_count_is_not_played() -> None:
    """Nor asked for; whatever the workers."""
    theirs, ours = multi_task(), multi_task()
    with closed(theirs, ours):
        wanted = metaworld.evaluation.evaluation(Experts(theirs), theirs, EPISODES)
        counted = {name: len(returns) for name, returns in wanted[3].items()}
        assert evaluation(Experts(ours), ours, EPISODES, workers=2) == wanted
        executed = ours._reglue_environment.environment.executed
    assert counted == dict.fromkeys(wanted[3], EPISODES)
    slow = multi_task()
    with closed(slow):
        assert evaluation(Experts(slow), slow, EPISODES, workers=0, surplus=True) == wanted
        assert executed < slow._reglue_environment.environment.executed


def test_workers_live_as_long_as_the_vector_environment() -> None:
    """The next evaluation finds them; they end with it."""
    before = child_processes()
    envs = multi_task()
    evaluation(Experts(envs), envs, 1, workers=2)
    playing = child_processes() - before
    evaluation(Experts(envs), envs, 1, workers=2)
    assert child_processes() - before == playing
    assert len(playing) == 2
    envs.close()
    del envs
    assert child_processes() <= before


def test_an_asynchronous_vector_environment_is_read_and_left_likewise() -> None:
    theirs, ours = multi_task(), multi_task(vector_strategy="async")
    with closed(theirs, ours):
        # Given and not drawn: `make_vec` draws goals from the process's global generator.
        ours.set_attr("tasks", theirs.get_attr("tasks"))
        assert ours.get_attr("tasks") == theirs.get_attr("tasks")
        wanted = metaworld.evaluation.evaluation(Experts(theirs), theirs, 1)
        assert evaluation(Experts(theirs), ours, 1, workers=0, surplus=True) == wanted
        assert standing(ours) == standing(theirs)


def test_meta_learning_numbers_are_upstreams() -> None:
    """Of three sub-environments of a name one is slow and one fails: the quota's bias shows."""
    strengths = [1.0, 0.3, 0.0] * 2
    theirs, ours, thrifty = (meta_learning() for _ in range(3))
    with closed(theirs, ours, thrifty):
        agents = [Experts(each, np.float32, strengths) for each in (theirs, ours, thrifty)]
        counts = (2, 1, 2, 2)  # evaluations, adaptation steps, their episodes, episodes judged
        wanted = metaworld.evaluation.metalearning_evaluation(agents[0], theirs, *counts)
        got = metalearning_evaluation(agents[1], ours, *counts, workers=0, surplus=True)
        assert 0.5 < wanted[0] < 1.0  # it shows: one in three succeeds at once
        assert got == wanted
        assert same_calls(agents[1].calls, agents[0].calls)
        assert metalearning_evaluation(agents[2], thrifty, *counts, workers=2) == wanted
        assert standing(ours) == standing(thrifty) == standing(theirs)


def test_what_the_agent_raises_comes_out_as_it_was() -> None:
    class Broken(Experts):
        def eval_action(self, observations: Any) -> Any:
            raise ZeroDivisionError("in the agent")

    envs = multi_task()
    with closed(envs):
        before = standing_of_generators(envs)
        with raises(ZeroDivisionError, "in the agent"):
            evaluation(Broken(envs), envs, 1, workers=0)
        assert standing_of_generators(envs) == before


def test_an_action_of_another_dtype_is_refused() -> None:
    envs = multi_task()
    with closed(envs), raises(NotAnAgent, "float16", "float32"):
        evaluation(Experts(envs, np.float16), envs, 1, workers=0)


@pytest.mark.parametrize(
    ("make", "options", "advice"),
    [
        (multi_task, {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}, "gym.make_vec"),
        (one_task, {"autoreset": gym.vector.AutoresetMode.NEXT_STEP}, "vector_kwargs"),
        (one_task, {"autoreset": gym.vector.AutoresetMode.DISABLED}, "vector_kwargs"),
    ],
)
def test_who_resets_otherwise_is_told_how_to_make_one_that_does(
    make: Callable[..., Any], options: dict[str, Any], advice: str
) -> None:
    envs = make(**options)
    mode = next(iter(options.values())).name
    with closed(envs), raises(UsageError, mode, "SAME_STEP", advice):
        evaluation(Experts(envs), envs, 1)


@pytest.fixture(scope="module")
def unset() -> Iterator[Any]:
    """Environments in which no task was set."""
    envs = meta_learning()
    with closed(envs):
        yield envs


def test_an_environment_in_which_no_task_was_set_is_refused(unset: Any) -> None:
    with raises(UsageError, "sample_tasks"):
        evaluation(Experts(unset), unset, 1, workers=0)


def test_other_vector_environments_are_refused(unset: Any) -> None:
    with raises(UsageError, "list", "SyncVectorEnv", "AsyncVectorEnv"):
        evaluation(Experts(unset), [], 1)


@pytest.mark.parametrize(
    ("name", "got", "least"),
    [
        ("num_evals", 0, 1),
        ("num_evals", 1.5, 1),
        ("evaluation_episodes", -1, 1),
        ("adaptation_steps", -1, 0),
        ("adaptation_episodes", "2", 0),
        ("workers", -1, 0),
    ],
)
def test_counts_are_whole_numbers(unset: Any, name: str, got: Any, least: int) -> None:
    with raises(UsageError, name, repr(got), least):
        metalearning_evaluation(Experts(unset), [], **{name: got})


def test_an_agent_of_ours_is_told_where_it_belongs() -> None:
    with raises(UsageError, "reglue.Agent", "reglue_bench.evaluate"):
        evaluation(Agent(), [], 1)


def standing_of_generators(envs: Any) -> list[Any]:
    return [each.bit_generator.state for each in envs.get_attr("np_random")]

"""Epochs of a fixed number of rows."""

from __future__ import annotations

import math
import weakref
from collections import namedtuple
from functools import partial
from itertools import islice
from typing import Any

import gymnasium
import numpy as np
import numpy.testing as npt
import pytest
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from reglue.errors import BadArgument, NotAnEnvironment, TrainingOver
from reglue.rollouts import collect_steps, transitions
from reglue.rollouts.rollout import UnknownArray
from reglue.spec import Array
from tests.error_facts import raises
from tests.reglue.rollouts.rollout_toys import (
    MODES,
    TRUNCATES,
    Counting,
    DictToy,
    Pausing,
    Toy,
    toys,
)


def watching(observations: Array) -> tuple[Array, dict[str, Array]]:
    """Values that say which observation they are of."""
    actions = observations[:, 0].astype(int) % 10
    return actions, {"value": observations[:, 0] / 2, "logits": observations.repeat(3, axis=1)}


@pytest.mark.parametrize("mode", MODES)
def test_the_budget_ends_the_epochs_and_is_not_exceeded(mode: str) -> None:
    """Nine rows of two environments are 16 steps."""
    envs = toys(2, 4, mode=mode)
    assert len(list(collect_steps(envs, watching, 9, budget=16))) == 1
    assert len(list(collect_steps(envs, watching, 9, budget=63))) == 3
    assert len(list(collect_steps(envs, watching, 9, budget=64))) == 4


def test_without_an_overlap_later_epochs_have_a_step_more() -> None:
    epochs = list(collect_steps(toys(9, 9), Counting(), 4, budget=14, overlap=0))
    assert [each["action"][:, 0].tolist() for each in epochs] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_an_epoch_of_one_row_takes_no_step_but_needs_a_budget() -> None:
    envs = toys(9, 9)
    epochs = list(collect_steps(envs, Counting(), 1, budget=1, overlap=0))
    assert [each["action"][:, 0].tolist() for each in epochs] == [[0]]
    with raises(BadArgument, "at least the 1 of one epoch", got="a budget of 0 steps"):
        collect_steps(envs, Counting(), 1, budget=0, overlap=0)


def test_values_are_kept_across_epochs() -> None:
    epochs = collect_steps(toys(2, 4), watching, 3)
    for before, after in zip(islice(epochs, 5), islice(epochs, 5), strict=True):
        for name in ("value", "logits", "action"):
            npt.assert_array_equal(after[name][0], before[name][-1])


@pytest.mark.parametrize("mode", MODES)
def test_an_ends_value_is_that_of_the_final_observation(mode: str) -> None:
    """Both kinds of end; only a termination takes the value away."""
    envs = toys(2, 3, mode=mode, kinds=["terminates", TRUNCATES])
    for rollout in islice(collect_steps(envs, watching, 9), 3):
        pairs = transitions(rollout)
        npt.assert_array_equal(pairs["value"][1], pairs["value"][0] + 0.5)
        npt.assert_array_equal(pairs["logits"], pairs["observation"].repeat(3, axis=2))
        npt.assert_array_equal(pairs["bootstrap"], ~pairs["terminated"])
        truncated = pairs["truncated"][1]
        assert truncated.any()
        assert pairs["bootstrap"][1][truncated].all()
        assert (pairs["value"][1][truncated] % 50 == 1.5).all()
        arrived = rollout.arrivals("value")[rollout["done"]]
        assert set(arrived % 50) == {1.0, 1.5}


def test_final_observations_are_asked_about_in_whole_batches() -> None:
    """Five ends in an epoch, two environments: three questions, at its end."""
    sizes: list[int] = []

    def policy(observations: Array) -> tuple[Array, dict[str, Array]]:
        sizes.append(len(observations))
        return watching(observations)

    rollout = next(collect_steps(toys(2, 3, mode="SameStep"), policy, 7))
    assert int(rollout["done"].sum()) == 5
    assert sizes == [2] * (7 + 3)


@pytest.mark.parametrize("overlap", [0, 1, 2, 4])
def test_final_observations_survive_an_overlap(overlap: int) -> None:
    envs = toys(2, 3, mode="SameStep")
    for rollout in islice(collect_steps(envs, watching, 5, overlap=overlap), 6):
        pairs = transitions(rollout)
        npt.assert_array_equal(pairs["observation"][1], pairs["observation"][0] + 1)
        npt.assert_array_equal(pairs["value"][1], pairs["observation"][1, :, 0] / 2)


def test_dict_actions_are_named_arrays() -> None:
    class Both(Toy):
        action_space: Any = gymnasium.spaces.Dict(
            a=gymnasium.spaces.Discrete(9), b=gymnasium.spaces.Box(-1, 1, (2,))
        )

        def step(self, action: Any) -> tuple[Array, float, bool, bool, Any]:
            return super().step(action["a"])

    def policy(observations: Array) -> tuple[Any, dict[str, Array]]:
        actions = {"a": np.array([3, 4]), "b": np.zeros((2, 2), np.float32)}
        return actions, {"value": np.ones(2)}

    envs = SyncVectorEnv([partial(Both, [2]), partial(Both, [3])])
    rollout = next(collect_steps(envs, policy, 3))
    assert rollout["action/a"].tolist() == [[3, 4]] * 3
    assert len(rollout) == len([*rollout])
    assert rollout["action/b"].shape == (3, 2, 2)
    assert [env.unwrapped.actions for env in envs.envs] == [[3, 3], [4, 4]]  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", MODES)
def test_transitions_of_dict_observations(mode: str) -> None:
    envs = SyncVectorEnv([partial(DictToy, 2), partial(DictToy, 3)], autoreset_mode=mode)
    pairs = transitions(
        next(collect_steps(envs, lambda seen: (seen["goal"] * 0, {"goal": seen["goal"]}), 8))
    )
    npt.assert_array_equal(pairs["observation/goal"][0], pairs["observation/goal"][1])
    npt.assert_array_equal(pairs["goal"], pairs["observation/goal"])
    seen = pairs["observation/seen/0"]
    npt.assert_array_equal(seen[1], seen[0] + 1)


def test_a_wrappers_reward_of_a_reset_is_zero() -> None:
    """No action earned it."""
    envs = gymnasium.wrappers.vector.ClipReward(toys(2), 0.5, 9)
    rollout = next(collect_steps(envs, Counting(1), 7))
    assert rollout["reward"][:, 0].tolist() == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("rows", [2, 3, 4, 8])
def test_an_environment_without_an_episode_takes_no_steps(mode: str, rows: int) -> None:
    epochs = islice(collect_steps(Pausing(mode), ones, rows), math.ceil(7 / (rows - 1)))
    got = [transitions(each) for each in epochs]
    seen = np.concatenate([pairs["observation"] for pairs in got], axis=1)
    assert seen[:, :4, 0].tolist() == [[0, 1, 100, 101], [1, 2, 101, 102]]
    times = np.concatenate([pairs["timestep"] for pairs in got], axis=1)
    assert times[:, :4].tolist() == [[0, 1, 0, 1], [1, 2, 1, 2]]
    totals = np.concatenate([pairs["cumulated_reward"][1] for pairs in got])
    assert totals[:4].tolist() == [1, 3, 1, 3]


def ones(observations: Array) -> Array:
    return np.ones(len(observations), int)


def test_when_training_is_over_nothing_is_stepped_again() -> None:
    class Over(gymnasium.vector.VectorWrapper[Any, Any, Any]):
        steps = 0

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            if options:
                raise TrainingOver("that is all")
            return super().reset(seed=seed)

        def step(self, actions: Any) -> Any:
            self.steps += 1
            return super().step(actions)

    envs = Over(toys(2, 3, mode="Disabled"))
    epochs = collect_steps(envs, Counting(), 3)
    assert transitions(next(epochs))["done"][1].tolist() == [False, False, True, False]
    with pytest.raises(TrainingOver):
        next(epochs)
    assert envs.steps == 2


def test_a_policy_with_state_hears_where_episodes_begin() -> None:
    masks: list[list[bool]] = []

    def hear(mask: Array) -> None:
        masks.append(mask.tolist())

    epochs = collect_steps(toys(1, 2), Counting(), 3, on_start=hear)
    next(epochs), next(epochs)
    assert masks == [[True, True], [True, False], [False, True], [True, False]]


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_a_policy_with_state_is_not_asked_twice(mode: str) -> None:
    with raises(BadArgument, mode, "NEXT_STEP"):
        collect_steps(toys(2, mode=mode), Counting(1), 3, on_start=lambda mask: None)


@pytest.mark.parametrize("mode", MODES)
def test_a_policy_may_answer_in_the_same_memory_and_write_to_what_it_sees(mode: str) -> None:
    memory = np.zeros(2, int)

    def policy(observations: Array) -> tuple[Array, dict[str, Array]]:
        memory[:] = observations[:, 0] % 10
        observations += 1000
        return memory, {"seen": memory}

    envs = SyncVectorEnv([lambda: Toy([2]), lambda: Toy([3])], copy=False, autoreset_mode=mode)
    for rollout in islice(collect_steps(envs, policy, 9), 6):
        memory[:] = 99  # as training may do
        npt.assert_array_equal(rollout["action"], rollout["observation"][..., 0] % 10)
        pairs = transitions(rollout)
        npt.assert_array_equal(pairs["seen"], pairs["observation"][..., 0] % 10)
        rollout["observation"][:] = -1  # nor does the next epoch see what is done to this one
    played = [env.unwrapped.actions for env in envs.envs]  # type: ignore[attr-defined]
    assert [len(set(actions) - {0, 1, 2}) for actions in played] == [0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_but_the_program_keeps_an_epoch(mode: str) -> None:
    epochs = collect_steps(toys(2, 4, mode=mode), watching, 9)
    for rollout in islice(epochs, 3):
        arrays = [weakref.ref(array) for array in rollout.values()]
        del rollout
        assert [each() for each in arrays] == [None] * len(arrays)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_are_shared_with_torch(mode: str) -> None:
    rollout = next(collect_steps(toys(2, 3, mode=mode), watching, 9))
    for arrays in (rollout, transitions(rollout)):
        for array in arrays.values():
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert array.flags.aligned
            assert array.ctypes.data % 64 == 0  # as JAX wants it
            tensor = torch.from_dlpack(array)
            assert tensor.data_ptr() == array.ctypes.data
            npt.assert_array_equal(tensor.numpy(), array)


def test_what_was_computed_from_a_rollout_is_paired_too() -> None:
    rollout = next(collect_steps(toys(2, 3), watching, 5))
    pairs = transitions(rollout.with_arrays(twice=2 * rollout["value"]))
    npt.assert_array_equal(pairs["twice"], 2 * pairs["value"])
    with raises(BadArgument, "twice", (4, 2), "(5, 2, …)"):
        rollout.with_arrays(twice=rollout["value"][1:])
    with raises(BadArgument, "value"):
        rollout.with_arrays(value=rollout["value"])


def test_a_flag_may_choose_which_pairs_are_dropped() -> None:
    rollout = next(collect_steps(toys(2, 2, kinds=["terminates", TRUNCATES]), watching, 6))
    crosses = transitions(rollout, drop="terminated")
    assert crosses["done"].shape == (2, 9)  # the truncated one's crossing stays
    assert transitions(rollout, drop="done")["done"].shape == (2, 8)
    with raises(BadArgument, "reward", "float64"):
        transitions(rollout, drop="reward")


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
@pytest.mark.parametrize("drop", [None, "done", "terminated"])
def test_where_nothing_crosses_nothing_is_dropped(mode: str, drop: str | None) -> None:
    rollout = next(collect_steps(toys(2, 2, mode=mode), watching, 6))
    assert transitions(rollout, drop=drop)["done"].shape == (2, 10)


def test_an_unknown_array_is_named() -> None:
    rollout = next(collect_steps(toys(2), watching, 3))
    with raises(UnknownArray, "array", "value", got="valu") as error:
        rollout["valu"]
    assert isinstance(error.value, KeyError)


# Python 3.12 warns of what AsyncVectorEnv does where other tests have started threads.
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@FORKS
@pytest.mark.parametrize("vectorized", ["vector_entry_point", "async"])
def test_other_vector_environments(vectorized: str) -> None:
    envs = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode=vectorized)
    try:
        rollout = next(collect_steps(envs, lambda seen: np.zeros(3, int), 40, seed=3))
    finally:
        envs.close()
    pairs = transitions(rollout)
    starts = pairs["observation"][0][pairs["timestep"][0] == 0]
    assert len(starts) > 6
    assert (np.abs(starts) <= 0.05).all()
    assert pairs["done"].shape[1] == 3 * 39 - rollout["done"][:-1].sum()


@FORKS
@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_processes_that_reset_in_the_same_step(mode: str) -> None:
    envs = AsyncVectorEnv([lambda: Toy([2]), lambda: Toy([3])], autoreset_mode=mode)
    try:
        pairs = transitions(next(collect_steps(envs, watching, 7)))
    finally:
        envs.close()
    wanted = transitions(next(collect_steps(toys(2, 3, mode=mode), watching, 7)))
    for name, array in wanted.items():
        npt.assert_array_equal(pairs[name], array)


@pytest.mark.parametrize(
    ("n", "arguments", "named"),
    [
        (1, {}, ["1 rows", "2 rows"]),
        (3, {"overlap": 3}, ["3 rows", "4 rows"]),
        (0, {"overlap": 0}, ["n=0", 1]),
        (9.0, {}, ["n=9.0"]),
        (3, {"overlap": -1}, ["overlap=-1", 0]),
        (3, {"seed": -1}, ["seed=-1", 0]),
        (3, {"budget": -1}, ["budget=-1", 0]),
        (3, {"budget": 3}, ["3 steps", 4]),
    ],
)
def test_illegal_numbers_are_refused_at_once(
    n: Any, arguments: dict[str, Any], named: list[object]
) -> None:
    envs = toys(2, 4)
    with raises(BadArgument, *named):
        collect_steps(envs, Counting(), n, **arguments)
    assert envs.envs[0].unwrapped.episode == -1  # type: ignore[attr-defined]


def test_a_single_environment_is_refused_at_once() -> None:
    with raises(NotAnEnvironment, "Toy", "make_vec(…, num_envs=1)"):
        collect_steps(Toy([2]), Counting(1), 3)


def test_transitions_are_those_of_a_rollout() -> None:
    arrays: Any = {"done": np.zeros((3, 2), bool)}
    with raises(BadArgument, "dict", "Rollout"):
        transitions(arrays)


def test_a_pair_needs_two_rows() -> None:
    rollout = next(collect_steps(toys(2, 4), Counting(), 1, overlap=0))
    with raises(BadArgument, 2, got="1 row"):
        transitions(rollout)


ONE = np.zeros(2, int)


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (np.zeros(3, int), ["actions", (3,), (2,)]),
        (np.zeros((2, 1), int), ["actions", (2, 1), (2,)]),
        (0, ["actions", (), (2,)]),
        (np.zeros(2), ["actions", "float64", "int64"]),
        (None, ["action", "object"]),
        ((ONE, {"value": np.zeros(3)}), ["value", (3,), "(2, …)"]),
        ((ONE, {"value": 0.0}), ["value", (), "(2, …)"]),
        ((ONE, {"reward": np.zeros(2)}), ["'reward'"]),
        ((ONE, {"observation/x": np.zeros(2)}), ["'observation/x'"]),
        ((ONE, {"names": ["a", None]}), ["names", "object"]),
        ((ONE, ONE, ONE), ["(ndarray, ndarray, ndarray)"]),
        ((ONE, {"names": ["a", "b"]}), ["names", "<U1"]),
        ({"actions": ONE}, ["'action'"]),
        ((ONE, {"value": torch.zeros(2, requires_grad=True)}), ["value", "detach"]),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answer: Any, named: list[object]) -> None:
    epochs = collect_steps(toys(2, 4), lambda observations: answer, 3)
    with raises(BadArgument, *named):
        next(epochs)


@pytest.mark.parametrize(
    ("later", "named"),
    [
        ({}, [["action"], ["action", "value"]]),
        ({"value": np.zeros((2, 1))}, ["value", "float64", (2, 1), "float32"]),
        ({"value": np.zeros(2, complex)}, ["value", "complex128"]),
    ],
)
def test_an_answer_that_changes_is_refused(later: dict[str, Array], named: list[object]) -> None:
    answers = iter([{"value": np.zeros(2, np.float32)}, later])
    epochs = collect_steps(toys(2, 4), lambda observations: (ONE, next(answers)), 3)
    with raises(BadArgument, *named):
        next(epochs)


Acted = namedtuple("Acted", "action value")


@pytest.mark.parametrize(
    "answer",
    [
        (ONE, {"value": np.ones(2)}),
        {"action": ONE, "value": np.ones(2)},
        Acted(ONE, np.ones(2)),
        (ONE, namedtuple("More", "value")(np.ones(2))),
        (torch.zeros(2, dtype=torch.int64), {"value": torch.ones(2)}),
        ([0, 0], {"value": [1, 1]}),
    ],
)
def test_what_a_policy_may_return(answer: Any) -> None:
    rollout = next(collect_steps(toys(2, 4), lambda observations: answer, 3))
    assert rollout["value"].tolist() == [[1, 1]] * 3
    assert rollout["action"].dtype == np.int64

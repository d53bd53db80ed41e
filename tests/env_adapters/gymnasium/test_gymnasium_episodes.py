"""An episode is plain Gymnasium's, to the bit, with the cell's chance."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from env_adapters import Restorable
from env_adapters.determinism import check_determinism
from env_adapters.gymnasium import Gymnasium
from reglue.environments.world import Seeded
from reglue.errors import IllegalAction, UnknownName, UsageError
from reglue.rng import Rng
from reglue.spec import Array
from tests.env_adapters.gymnasium.gymnasium_playing import (
    CLASSIC_CONTROL,
    KNOWN,
    MUJOCO,
    Bits,
    actions,
    cell,
    run,
)
from tests.error_facts import raises
from tests.programs import run_python

OTHER_PROCESS = """
import json, sys
from env_adapters.gymnasium import Gymnasium
from tests.env_adapters.gymnasium.gymnasium_playing import actions, cell, run

for name, options in json.loads(sys.stdin.read()):
    suite = Gymnasium(name, **options)
    world = suite.world()
    first = world.start(cell(name))["observation"].tobytes().hex()
    print(json.dumps([first, run(world, actions(suite, 12))]))
"""


def plain_episode(name: str, options: dict[str, Any], chosen: list[Array]) -> list[Bits]:
    """The episode of Gymnasium alone, whose generator is the cell's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of v4
        env: Any = gymnasium.make(name, disable_env_checker=True, **options)
    env.unwrapped.np_random = np.random.Generator(Rng(1, 4).bits)
    taken = [(np.asarray(env.reset()[0]).tobytes().hex(), "", False, False)]
    for action in chosen:
        observation, reward, terminated, truncated, _ = env.step(action[()])
        seen = np.asarray(observation).tobytes().hex()
        taken.append((seen, float(reward).hex(), terminated, truncated))
        if terminated or truncated:
            break
    env.close()
    return taken


def test_the_v5_environments_of_mujoco_are_all_here() -> None:
    assert len(MUJOCO) == 11


@pytest.mark.parametrize(("name", "options"), KNOWN)
def test_an_episode_is_plain_gymnasiums_to_the_bit(name: str, options: dict[str, Any]) -> None:
    """Its actions leave the Box too: Gymnasium's own clip them, and some charge for them."""
    suite = Gymnasium(name, **options)
    chosen = actions(suite, 60, stretch=1.5)
    world = suite.world()
    first = world.start(cell(name))["observation"]
    assert [(first.tobytes().hex(), "", False, False), *run(world, chosen)] == plain_episode(
        name, options, chosen
    )
    world.close()


def test_an_episode_is_the_same_in_another_process() -> None:
    done = run_python(OTHER_PROCESS, given=json.dumps(KNOWN), PYTHONWARNINGS="error")
    for (name, options), line in zip(KNOWN, done.stdout.splitlines(), strict=True):
        suite = Gymnasium(name, **options)
        world = suite.world()
        first = world.start(cell(name))["observation"].tobytes().hex()
        here = [first, run(world, actions(suite, 12))]
        assert json.loads(line) == json.loads(json.dumps(here)), name


def test_a_start_draws_the_numbers_that_the_rule_of_chance_gives() -> None:
    """So a cart-pole in another language can begin in the same place."""
    first = Gymnasium("CartPole-v1").world().start(cell("CartPole-v1"))["observation"]
    rng = Rng(1, 4)
    drawn = [rng.uniform(-0.05, 0.05) for _ in range(4)]
    assert first.tolist() == np.array(drawn, np.float32).tolist()


@pytest.mark.parametrize("other", [{"seed": 5}, {"repeat": 5}])
@pytest.mark.parametrize("name", [*CLASSIC_CONTROL, "Ant-v5"])
def test_seed_and_repeat_decide_where_it_starts(name: str, other: dict[str, int]) -> None:
    world = Gymnasium(name).world()
    one = world.start(cell(name))["observation"]
    assert not np.array_equal(one, world.start(cell(name, **other))["observation"])


@pytest.mark.parametrize("name", ["CartPole-v0", "CartPole", "Ant-v4"])
def test_ids_that_gymnasium_warns_of_are_played(name: str) -> None:
    suite = Gymnasium(name)
    world = suite.world()
    world.start(cell(name))
    assert run(world, actions(suite, 1))


def test_time_that_runs_out_truncates() -> None:
    suite = Gymnasium("Pendulum-v1", max_episode_steps=3)
    world = suite.world()
    world.start(cell("Pendulum-v1"))
    ends = [flags for _, _, *flags in run(world, actions(suite, 9))]
    assert ends == [[False, False], [False, False], [False, True]]


def test_a_fall_terminates() -> None:
    world = Gymnasium("CartPole-v1").world()
    world.start(cell("CartPole-v1"))
    assert run(world, [np.array(1)] * 50)[-1][2:] == (True, False)


def test_an_episode_that_is_over_takes_no_step() -> None:
    world = Gymnasium("CartPole-v1").world()
    world.start(cell("CartPole-v1"))
    run(world, [np.array(1)] * 50)
    with raises(UsageError, "start"):
        world.step({"action": np.array(1)})


def test_a_closed_world_can_start_again() -> None:
    suite = Gymnasium("Ant-v5")
    world, chosen = suite.world(), actions(suite, 5)
    world.start(cell("Ant-v5"))
    expected = run(world, chosen)
    world.close()
    world.start(cell("Ant-v5"))
    assert run(world, chosen) == expected


def test_who_writes_into_an_observation_changes_nothing() -> None:
    """MountainCarContinuous returns the array that it computes with."""
    name = "MountainCarContinuous-v0"
    suite = Gymnasium(name)
    world, chosen = suite.world(), actions(suite, 2)
    world.start(cell(name))
    expected = run(world, chosen)
    world.start(cell(name))
    world.step({"action": chosen[0]}).observation["observation"][:] = 0
    assert run(world, chosen[1:]) == expected[1:]


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("CartPole-v1", np.array(2)),
        ("CartPole-v1", np.array(-1)),
        ("CartPole-v1", np.array([1])),
        ("Pendulum-v1", np.array([np.nan])),
        ("Pendulum-v1", np.array(0.5)),
    ],
)
def test_what_is_no_action_is_refused_and_the_episode_goes_on(name: str, action: Array) -> None:
    suite = Gymnasium(name)
    world, chosen = suite.world(), actions(suite, 4)
    world.start(cell(name))
    expected = run(world, chosen)
    world.start(cell(name))
    with raises(
        IllegalAction, f"action {action.tolist()}", suite.spec.actions[0].domain.__class__.__name__
    ):
        world.step({"action": action})
    assert run(world, chosen) == expected


@pytest.mark.parametrize(
    ("change", "error"), [({"task": "Acrobot-v1"}, UnknownName), ({"variant": 1}, UsageError)]
)
def test_a_cell_of_another_suite_is_refused(
    change: dict[str, Any], error: type[UsageError]
) -> None:
    world = Gymnasium("CartPole-v1").world()
    with pytest.raises(error):
        world.start(dataclasses.replace(cell("CartPole-v1"), **change))


class Foreign(gymnasium.Env[Array, Array]):
    """Shows the action that it was given and a number of its own old generator."""

    observation_space = gymnasium.spaces.Box(-100, 100, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1, np.array([1, np.inf], np.float32), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, Any]:
        self._chance = np.random.RandomState(seed)
        return self._seen(np.zeros(2)), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, Any]:
        return self._seen(action), 0.0, False, False, {}

    def _seen(self, action: Array) -> Array:
        return np.append(action, self._chance.uniform()).astype(np.float32)


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    gymnasium.register("reglue-tests/Foreign-v0", entry_point=f"{__name__}:Foreign")
    yield "reglue-tests/Foreign-v0"
    del gymnasium.registry["reglue-tests/Foreign-v0"]


def test_an_environment_of_others_plays_a_function_of_the_cell(foreign: str) -> None:
    check_determinism(Gymnasium(foreign))


def test_of_an_environment_of_others_nothing_more_is_claimed(foreign: str) -> None:
    suite = Gymnasium(foreign)
    world = suite.world()
    claims = (suite.standardizes, isinstance(world, Restorable), isinstance(world, Seeded))
    assert claims == (False, False, False)


def test_an_environment_that_is_known_within_a_wrapper_that_is_not_is_one_of_others() -> None:
    wrapper = gymnasium.wrappers.TransformReward.wrapper_spec(func=float)
    gymnasium.register(
        "reglue-tests/Wrapped-v0",
        entry_point="gymnasium.envs.classic_control:CartPoleEnv",
        additional_wrappers=(wrapper,),
    )
    try:
        assert not isinstance(Gymnasium("reglue-tests/Wrapped-v0").world(), Restorable)
    finally:
        del gymnasium.registry["reglue-tests/Wrapped-v0"]


def test_for_an_environment_of_others_actions_are_clipped(foreign: str) -> None:
    world = Gymnasium(foreign).world()
    world.start(cell(foreign))
    step = world.step({"action": np.array([-7, 70], np.float32)})
    assert step.observation["observation"][:2].tolist() == [-1, 70]

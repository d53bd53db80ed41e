"""A goal is a variant of its task, and may be hidden."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from env_adapters.determinism import check_determinism
from env_adapters.goals import GoalEnvironment, Point2D
from env_adapters.gymnasium import Gymnasium
from reglue.environments.world import Restorable
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from tests.error_facts import raises

POINT = "Reglue/Point2D-v0"


def cell(variant: int, *, repeat: int = 0, task: str = POINT) -> Cell:
    return Cell(task, variant, 7, repeat, Phase.EVALUATE)


def goals_of(suite: Gymnasium) -> Iterator[list[float]]:
    """In the first observation of each variant."""
    with closing(suite.world()) as world:
        for task, variants in suite.variants.items():
            for variant in range(variants):
                first = world.start(cell(variant, repeat=variant, task=task))
                yield first["desired_goal"].tolist()


def test_a_suite_has_as_many_variants_as_goals() -> None:
    suite = Gymnasium(POINT, goals=5)
    assert suite.variants == {POINT: 5}
    goals = list(goals_of(suite))
    assert len({tuple(goal) for goal in goals}) == 5
    assert goals == list(goals_of(Gymnasium(POINT, goals=5)))
    assert goals[:3] == list(goals_of(Gymnasium(POINT, goals=3)))
    assert goals != list(goals_of(Gymnasium(POINT, goals=5, goal_seed=1)))


def test_a_variants_goal_is_that_of_all_its_episodes() -> None:
    with closing(Gymnasium(POINT, goals=2).world()) as world:
        seen = [world.start(cell(1, repeat=repeat)) for repeat in range(4)]
    assert len({first["desired_goal"].tobytes() for first in seen}) == 1
    assert len({first["observation"].tobytes() for first in seen}) == 4


def test_without_goals_each_episode_draws_its_own() -> None:
    suite = Gymnasium(POINT)
    assert suite.variants == {POINT: 1}
    with closing(suite.world()) as world:
        seen = [world.start(cell(0, repeat=repeat)) for repeat in range(4)]
    assert len({first["desired_goal"].tobytes() for first in seen}) == 4


def test_cells_with_goals_are_played_and_kept_to_the_bit() -> None:
    check_determinism(Gymnasium(POINT, goals=3))


def test_a_state_is_refused_where_variants_are_other_goals() -> None:
    with closing(Gymnasium(POINT, goals=3).world()) as world:
        world.start(cell(2))
        assert isinstance(world, Restorable)
        state = world.get_state()
    with closing(Gymnasium(POINT, goals=3, goal_seed=1).world()) as other:
        assert isinstance(other, Restorable)
        with raises(BadArgument, "options"):
            other.set_state(state)


@pytest.mark.parametrize("variant", [-1, 3])
def test_a_variant_that_there_is_not_is_refused(variant: int) -> None:
    with (
        closing(Gymnasium(POINT, goals=3).world()) as world,
        raises(BadArgument, f"variant {variant}", "0 to 2"),
    ):
        world.start(cell(variant))


@pytest.mark.parametrize("sees", ["observation", ["observation"]])
def test_what_is_not_seen_is_hidden(sees: Any) -> None:
    suite = Gymnasium(POINT, goals=2, sees=sees)
    assert [tensor.name for tensor in suite.spec.observations] == ["observation"]
    check_determinism(suite)
    with closing(suite.world()) as world:
        assert list(world.start(cell(1))) == ["observation"]
        assert list(world.step({"action": np.zeros(2)}).observation) == ["observation"]


@pytest.mark.parametrize(
    ("options", "kind", "named"),
    [
        ({"sees": ["observatoin"]}, UnknownName, ["'observatoin'", "observation"]),
        ({"sees": ["goal"]}, UnknownName, ["'goal'"]),
        ({"sees": []}, BadArgument, ["no tensors"]),
        ({"goals": -1}, BadArgument, ["goals -1"]),
        ({"goals": "five"}, BadArgument, ["goals 'five'"]),
        ({"goals": 2, "goal_seed": -1}, BadArgument, ["goal_seed -1"]),
        ({"goals": True}, BadArgument, ["goals True"]),
        ({"goals": 2, "fixed_goal": [1, 2]}, BadArgument, ["2 goals", "fixed_goal"]),
        ({"sees": 5}, BadArgument, ["sees 5"]),
        ({"sees": [5]}, BadArgument, ["sees [5]"]),
    ],
)
def test_what_cannot_be_is_refused_at_construction(
    options: dict[str, Any], kind: type[Exception], named: list[str]
) -> None:
    with raises(kind, *named):
        Gymnasium(POINT, **options)


def test_an_environment_without_goals_says_why_there_are_no_variants() -> None:
    with raises(BadArgument, "CartPole", "Box", "desired_goal"):
        Gymnasium("CartPole-v1", goals=2)


def test_its_success_is_the_goals() -> None:
    with closing(Gymnasium(POINT, goals=1).world()) as world:
        seen = world.start(cell(0))
        for _ in range(20):
            way = seen["desired_goal"] - seen["observation"]
            step = world.step({"action": np.clip(way, -1, 1)})
            seen = step.observation
            if step.success:
                break
        assert np.linalg.norm(seen["desired_goal"] - seen["observation"]) < 0.6
        assert step.terminated


class Unset(Point2D):
    """Has no set_goal and draws no images."""

    set_goal = GoalEnvironment.set_goal
    get_image = GoalEnvironment.get_image


def test_what_an_environment_lacks_is_said() -> None:
    env = Unset()
    env.reset(seed=0)
    with raises(UsageError, "set_goal"):
        env.set_goal(np.zeros(2))
    with raises(UsageError, "get_image"):
        env.get_image(8)

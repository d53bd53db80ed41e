"""Mazes: they differ, they can be walked, and one that cannot be is refused."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from env_adapters.arcade import Arcade, make_config
from env_adapters.environment_configs import JSON
from env_adapters.environment_configs.values import ConfigError
from tests.env_adapters.arcade import policies

_SMALL = {"width": 0.04, "height": 0.04}


@pytest.mark.parametrize("size", [{"rows": 5, "cols": 6}, {"rows": 1, "cols": 1}, {"rows": 7}])
def test_every_maze_can_be_walked_through(size: dict[str, int]) -> None:
    config = make_config("maze", {"player_settings": _SMALL, "maze_settings": size})
    env = Arcade(config)
    for seed in range(10):
        env.reset(seed=seed)
        walk, terminated = policies.Walk(), False
        while not terminated:
            _, _, terminated, truncated, info = env.step(walk(policies.see(env)))
            assert not truncated
        assert info["is_success"]


def test_mazes_differ_between_their_doors() -> None:
    env = Arcade("maze")
    inner = set()
    for seed in range(10):
        env.reset(seed=seed)
        walls = policies.see(env).walls
        inner.add(frozenset(tuple(wall) for wall in walls if wall[1] > 0.11 and wall[3] < 0.75))
    assert len(inner) > 5


def test_no_wall_of_a_maze_lies_within_another() -> None:
    """A step looks at each."""
    env = Arcade("maze")
    env.reset(seed=0)
    walls = policies.see(env).walls
    assert len(walls) > 10
    for one, other in permutations(walls, 2):
        outside = one[0] < other[0] or one[1] < other[1] or one[2] > other[2] or one[3] > other[3]
        assert outside, (one, other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"player_settings": {"width": 0.2}}, "corridors 0.168 wide and 0.139 high, wanted 0.22"),
        ({"player_settings": {"height": 0.15}}, "wanted 0.07 and 0.17"),
        ({"player_settings": {"speed": 0.1}}, "smaller or slower player"),
        ({"player_settings": {"speed": 0.0}}, "player_settings.speed: got 0.0, wanted more"),
        ({"maze_settings": {"cols": 12}}, "corridors 0.0554 wide"),
        ({"maze_settings": {"cols": 12, "thickness": 0.1}}, "corridors -0.0258 wide"),
        ({"maze_settings": {"creation_area": [-0.5, 0.1, 1.5, 0.6]}}, "corridors -0.235 wide"),
        (
            {"maze_settings": {"creation_area": [0, 0.1, 1, 0.8]}},
            "creation_area: got a maze that ends at 0.9, wanted it to end above the player, at 0.8",
        ),
        ({"actions": {"left": False}}, "actions: a maze with the action up needs down, left"),
        ({"game_elements": {"top_wall": True}}, "game_elements.top_wall: got true, wanted false"),
    ],
)
def test_one_without_a_way_is_refused(changes: dict[str, JSON], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        make_config("maze", changes)
    assert message in str(raised.value)


def test_who_cannot_go_up_may_have_any_walls() -> None:
    only_left = {"up": False, "right": False}
    make_config("maze", {"actions": only_left, "maze_settings": {"cols": 12}})


def test_one_that_is_drawn_too_narrow_has_fewer_cells() -> None:
    cols: JSON = {"distribution": "uniform", "low": 5, "high": 12}
    env = Arcade(make_config("maze", {"maze_settings": {"cols": cols}}))
    found = set()
    for seed in range(20):
        env.reset(seed=seed)
        walls = np.array(policies.see(env).walls)
        found.add(len(np.unique(walls[:, 0])))
        policies.Walk()(policies.see(env))  # it finds a way
    assert len(found) > 3


def test_one_that_is_drawn_so_that_nobody_fits_is_left_out() -> None:
    height: JSON = {"distribution": "uniform", "low": 0.05, "high": 0.5}
    env = Arcade(make_config("maze", {"player_settings": {"height": height}}))
    there = set()
    for seed in range(20):
        env.reset(seed=seed)
        there.add(bool(policies.see(env).walls))
    assert there == {True, False}

"""Nothing is so fast that it gets through another thing, and a game's time stays its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env_adapters.arcade import GAMES, Arcade, make_config
from env_adapters.arcade.config import episode_config
from env_adapters.arcade.scene import parts_of_a_tick
from tests.env_adapters.arcade import policies

_FAST = 0.2  # sides of the screen a tick, the most that a config may say
_CLOSED = {"top_wall": True, "bottom_wall": True}
_BALL = 4  # its row of the bodies


@pytest.mark.parametrize("game", GAMES)
def test_the_games_ticks_are_whole(game: str) -> None:
    assert parts_of_a_tick(episode_config(make_config(game))) == 1


@pytest.mark.parametrize("size", [0.01, 0.05])
def test_a_fast_ball_is_returned_by_player_and_opponent(size: float) -> None:
    config = {
        "game_elements": {"ball": True, "opponent": True},
        "ball_settings": {"size": size, "speed": _FAST},
        "player_settings": {"speed": 0.0, "steering": 0.0},
        "opponent_settings": {"speed": 0.0},
    }
    env = Arcade(make_config({}, config))
    env.reset(seed=1)
    inside = env.get_inside()
    speed = np.hypot(*inside["bodies"][_BALL, 4:6])
    inside["bodies"][_BALL, 4:6] = 0.0, speed  # straight down
    env.set_inside(inside)
    ways = set()
    for _ in range(50):
        assert env.step(0)[1] == 0.0
        ways.add(policies.see(env).rest[0].vy > 0)
    assert ways == {True, False}


def test_a_fast_ball_stays_between_walls() -> None:
    walls = {"creation_area": [0.0, 0.6, 1.0, 0.02], "spacing": 0.0}
    on = {"ball": True, "static_barriers": True, **_CLOSED}
    config = {
        "game_elements": on,
        "ball_settings": {"size": 0.02, "speed": _FAST},
        "static_barrier_settings": walls,
    }
    env = Arcade(make_config({}, config))
    for seed in range(5):
        env.reset(seed=seed)
        for _ in range(100):
            env.step(0)
            assert policies.see(env).rest[0].y < 0.6


def test_a_fast_player_stops_at_a_thin_wall() -> None:
    config: dict[str, Any] = {
        "actions": {"up": True},
        "game_elements": {"static_barriers": True},
        "player_settings": {"width": 0.02, "height": 0.02, "speed": _FAST},
        "static_barrier_settings": {"creation_area": [0.0, 0.5, 1.0, 0.01], "spacing": 0.0},
    }
    env = Arcade(make_config({}, config))
    env.reset(seed=1)
    for _ in range(5):
        assert env.step(1)[1] == 0.0
    assert 0.51 <= policies.see(env).player.y < 0.54


def test_fast_blocks_meet_the_player() -> None:
    blocks = {
        "creation_area": [0.0, 0.1, 1.0, 0.02],
        "rows": 1,
        "cols": 1,
        "static_weave_fall": "fall",
        "speed": _FAST,
        "points": 1.0,
    }
    env = Arcade(make_config({}, {"game_elements": {"blocks": True}, "blocks_settings": blocks}))
    env.reset(seed=1)
    assert sum(env.step(0)[1] for _ in range(4)) >= 1.0


def test_finer_time_is_no_faster() -> None:
    for height, parts in ((0.03, 1), (0.01, 2)):
        player = {"height": height, "speed": 0.02}
        config = make_config({}, {"player_settings": player})
        assert parts_of_a_tick(episode_config(config)) == parts
        env = Arcade(config)
        env.reset(seed=1)
        x = policies.see(env).player.x
        env.step(4)
        assert policies.see(env).player.x == pytest.approx(x + 0.04)

"""The rules: what touches what, and what that is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env_adapters.arcade.config import episode_config
from env_adapters.arcade.rules import (
    command,
    drop_blocks,
    fire,
    move_balls,
    move_player,
    move_return_shot,
    move_shot,
    touch_blocks,
    weave_blocks,
)
from env_adapters.arcade.scene import Body, Events, Scene, lay_out

CHANCE = np.random.default_rng(0)


def _scene(**sections: Any) -> Scene:
    """With a ball, an opponent and no blocks, unless said otherwise."""
    scene = lay_out(episode_config(sections), CHANCE)
    scene.balls[:] = [Body(0.5, 0.5, 0.05, 0.05)]
    scene.opponent.alive = True
    return scene


def _ball(scene: Scene, x: float, y: float, vx: float, vy: float) -> Body:
    scene.balls[0] = Body(x, y, 0.05, 0.05, vx, vy)
    return scene.balls[0]


@pytest.mark.parametrize(
    ("harmful", "y", "vy", "points", "alive"),
    [
        (False, -0.049, -0.01, (100.0,), False),
        (False, 0.995, 0.01, (-100.0,), False),
        (True, -0.049, -0.01, (), False),
        (True, 0.995, 0.01, (), False),
        (False, 0.5, 0.01, (), True),
    ],
)
def test_a_ball_that_leaves(
    harmful: bool, y: float, vy: float, points: Events, alive: bool
) -> None:
    scene = _scene(ball_settings={"harmful": harmful})
    ball = _ball(scene, 0.2, y, 0.0, vy)
    assert move_balls(scene, CHANCE) == points
    assert ball.alive == alive


def test_a_ball_bounces_off_every_edge_that_has_a_wall() -> None:
    scene = _scene(game_elements={"top_wall": True, "bottom_wall": True})
    for x, y, vx, vy in (
        (0.031, 0.5, -0.01, 0.0),
        (0.919, 0.5, 0.01, 0.0),
        (0.2, 0.101, 0.0, -0.01),
        (0.2, 0.849, 0.0, 0.01),
    ):
        ball = _ball(scene, x, y, vx, vy)
        assert move_balls(scene, CHANCE) == ()
        assert (ball.vx, ball.vy) == (-vx, -vy)


@pytest.mark.parametrize(("axis", "sign"), [(0, 1), (0, -1), (1, 1), (1, -1)])
def test_a_ball_takes_one_block_a_bounce_the_first_in_its_way(axis: int, sign: int) -> None:
    scene = _scene(blocks_settings={"points": 7.0})
    middle, thickness = 0.4, 0.01
    gap = 0.025 + 0.001 + thickness / 2  # from the ball's middle to the first block's
    place, speed, size = [middle, middle], [0.001, 0.001], [0.2, 0.2]
    speed[axis], size[axis] = sign * 0.015, thickness
    ball = _ball(scene, middle - 0.025, middle - 0.025, *speed)
    blocks = []
    for further in (1, 0):
        place[axis] = middle + sign * (gap + further * thickness)
        w, h = size
        blocks.append(Body(place[0] - w / 2, place[1] - h / 2, w, h))
    scene.blocks[:] = blocks
    assert move_balls(scene, CHANCE) == (7.0,)
    assert [block.alive for block in blocks] == [True, False]
    speed[axis] = -speed[axis]
    assert [ball.vx, ball.vy] == speed


def test_a_ball_that_meets_two_blocks_of_a_row_bounces_once() -> None:
    scene = _scene(blocks_settings={"points": 7.0})
    scene.blocks[:] = [Body(0.4, 0.3, 0.1, 0.05), Body(0.5, 0.3, 0.1, 0.05)]
    ball = _ball(scene, 0.475, 0.355, 0.0, -0.01)
    assert move_balls(scene, CHANCE) == (7.0,)
    assert ball.vy == 0.01


def test_a_ball_that_meets_a_corner_goes_back() -> None:
    scene = _scene(blocks_settings={"points": 7.0})
    scene.blocks[:] = [Body(0.5, 0.3, 0.1, 0.05)]
    ball = _ball(scene, 0.445, 0.355, 0.01, -0.01)
    assert move_balls(scene, CHANCE) == (7.0,)
    assert (ball.vx, ball.vy) == (-0.01, 0.01)


@pytest.mark.parametrize("harmful", ["ball_settings", "blocks_settings"])
def test_what_is_harmful_bounces_and_takes_nothing(harmful: str) -> None:
    scene = _scene(**{harmful: {"harmful": True}})
    scene.blocks[:] = [Body(0.4, 0.3, 0.2, 0.05)]
    ball = _ball(scene, 0.5, 0.355, 0.0, -0.01)
    assert move_balls(scene, CHANCE) == ()
    assert ball.vy == 0.01
    assert scene.blocks[0].alive


def test_a_ball_gets_out_of_a_wall_that_it_is_in() -> None:
    scene = _scene()
    scene.walls[:] = [(0.4, 0.4, 0.6, 0.6)]
    ball = _ball(scene, 0.5, 0.5, 0.0, 0.01)
    for _ in range(20):
        move_balls(scene, CHANCE)
    assert ball.vy == 0.01
    assert ball.y == pytest.approx(0.7)


@pytest.mark.parametrize("steering", [0.0, 0.5, 1.0])
def test_the_player_steers_the_ball_and_keeps_its_speed(steering: float) -> None:
    leans = []
    for place in (0.0, 0.5, 1.0):
        scene = _scene(player_settings={"steering": steering})
        player = scene.player
        ball = _ball(scene, player.x + place * player.w - 0.025, 0.795, 0.003, 0.01)
        speed = np.hypot(ball.vx, ball.vy)
        move_balls(scene, CHANCE)
        assert ball.vy < 0
        assert np.hypot(ball.vx, ball.vy) == pytest.approx(speed)
        leans.append(ball.vx)
    if steering == 0.0:
        assert leans == pytest.approx([0.003] * 3)
    else:
        assert leans[0] < 0 < leans[2]
        assert leans[0] < leans[1] < leans[2]


def test_a_harmful_ball_that_touches_the_player_is_the_end() -> None:
    scene = _scene(ball_settings={"harmful": True})
    _ball(scene, scene.player.x - 0.055, scene.player.y, 0.01, 0.0)
    assert move_balls(scene, CHANCE) == (-100.0,)


def test_the_opponent_returns_the_ball() -> None:
    scene = _scene()
    ball = _ball(scene, scene.opponent.x, scene.opponent.y + scene.opponent.h + 0.005, 0.0, -0.01)
    assert move_balls(scene, CHANCE) == ()
    assert ball.vy == 0.01


def test_a_shot_hits_the_opponent_a_block_or_a_wall() -> None:
    scene = _scene(blocks_settings={"points": 3.0, "harmful": True})
    fire(scene.shot, 0.5, 0.2)
    scene.opponent.y = 0.16
    assert move_shot(scene, CHANCE) == (100.0,)
    scene.opponent.alive = False
    scene.blocks[:] = [Body(0.45, 0.12, 0.1, 0.05)]
    fire(scene.shot, 0.5, 0.19)
    assert [move_shot(scene, CHANCE) for _ in range(2)] == [(3.0,), ()]
    assert not scene.blocks[0].alive
    scene.walls[:] = [(0.45, 0.12, 0.55, 0.17)]
    fire(scene.shot, 0.5, 0.19)
    assert move_shot(scene, CHANCE) == ()
    assert not scene.shot.alive


def test_the_opponents_shot_hits_the_player_and_takes_blocks_for_nothing() -> None:
    scene = _scene()
    scene.blocks[:] = [Body(0.45, 0.5, 0.1, 0.05)]
    fire(scene.return_shot, 0.5, 0.48)
    assert move_return_shot(scene, CHANCE) == ()
    assert not scene.blocks[0].alive
    fire(scene.return_shot, 0.5, scene.player.y - 0.02)
    assert move_return_shot(scene, CHANCE) == (-100.0,)


def test_a_shot_ends_above_and_another_may_follow() -> None:
    scene = _scene(actions={"fire": True})
    scene.opponent.alive = False
    command(scene, 0.0, 0.0, shoot=True)
    y = scene.shot.y
    move_shot(scene, CHANCE)
    command(scene, 0.0, 0.0, shoot=True)
    assert scene.shot.y == y - 0.01
    for _ in range(100):
        move_shot(scene, CHANCE)
    assert not scene.shot.alive


def test_the_player_collects_blocks_or_dies_of_them() -> None:
    for harmful, points in ((False, (4.0, 4.0)), (True, (-100.0,))):
        scene = _scene(blocks_settings={"points": 4.0, "harmful": harmful})
        x, y = scene.player.x, scene.player.y
        scene.blocks[:] = [
            Body(x, y, 0.02, 0.02),
            Body(x + 0.1, y, 0.02, 0.02),
            Body(0, 0, 0.1, 0.1),
        ]
        assert touch_blocks(scene, CHANCE) == points
        assert [block.alive for block in scene.blocks] == [harmful, harmful, True]


def test_falling_blocks_cost_points_and_come_back() -> None:
    scene = _scene(blocks_settings={"fall_points": -20.0})
    scene.blocks[:] = [
        Body(0.1, 0.999, 0.1, 0.1, vy=0.01),
        Body(0.3, 0.999, 0.1, 0.1, vy=0.01, alive=False),
    ]
    assert drop_blocks(scene, CHANCE) == (-20.0,)
    assert [(block.y, block.alive) for block in scene.blocks] == [(-0.1, True)] * 2


def test_weaving_blocks_come_back_at_the_other_side() -> None:
    scene = _scene()
    scene.blocks[:] = [
        Body(0.999, 0.2, 0.1, 0.1, vx=0.01, alive=False),
        Body(-0.099, 0.3, 0.1, 0.1, vx=-0.01),
    ]
    weave_blocks(scene, CHANCE)
    assert [(block.x, block.alive) for block in scene.blocks] == [(-0.1, True), (1.0, True)]


def test_the_player_wins_above_loses_below_and_stops_at_walls() -> None:
    can = {"up": True, "down": True}
    for down, y, points in ((-1.0, 0.045, (100.0,)), (1.0, 0.925, (-100.0,))):
        scene = _scene(actions=can)
        scene.player.y = y
        command(scene, 0.0, down, shoot=False)
        assert move_player(scene, CHANCE) == points
    scene = _scene(actions=can, game_elements={"bottom_wall": True})
    command(scene, 0.0, 1.0, shoot=False)
    for _ in range(50):
        assert move_player(scene, CHANCE) == ()
    assert scene.player.y + scene.player.h == pytest.approx(0.9)
    scene.walls[:] = [(0.0, 0.7, 1.0, 0.8)]
    command(scene, 0.0, -1.0, shoot=False)
    for _ in range(50):
        move_player(scene, CHANCE)
    assert 0.8 <= scene.player.y < 0.81

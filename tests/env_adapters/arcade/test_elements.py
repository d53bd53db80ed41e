"""Each element and section changes what it should: bodies, walls, points and pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env_adapters.arcade import Arcade, make_config
from reglue.spec import Array
from tests.env_adapters.arcade import policies

_PURE = {
    "display_settings": {"background_color": [0, 0, 0], "ui_color": [1, 0, 0]},
    "player_settings": {"color": [0, 255, 0]},
    "opponent_settings": {"color": [255, 0, 255]},
    "ball_settings": {"color": [255, 255, 0]},
    "blocks_settings": {"color": [255, 0, 0]},
    "static_barrier_settings": {"color": [0, 0, 255]},
}
_GREEN, _PINK, _YELLOW, _RED, _BLUE = (
    section["color"] for name, section in _PURE.items() if name != "display_settings"
)


def _made(**changes: Any) -> Arcade:
    """Of pure colours; elements as named, sections as given."""
    changes = {**_PURE, **{name: {**_PURE.get(name, {}), **new} for name, new in changes.items()}}
    env = Arcade(make_config({}, changes))
    env.reset(seed=5)
    return env


def _frame(**changes: Any) -> Array:
    return _made(**changes).reset(seed=5)[0]


def _pixels(frame: Array, color: list[int]) -> int:
    return int((frame == color).all(axis=2).sum())


@pytest.mark.parametrize(
    ("element", "color", "pixels"),
    [
        ("opponent", _PINK, 17 * 3),
        ("ball", _YELLOW, 12),
        ("blocks", _RED, 24 * 11 * 5),
        ("static_barriers", _BLUE, None),
        ("maze", _BLUE, None),
        ("top_wall", _BLUE, None),
        ("bottom_wall", _BLUE, None),
    ],
)
def test_an_element_is_there_where_it_is_switched_on(
    element: str, color: list[int], pixels: int | None
) -> None:
    without = _pixels(_frame(), color)
    more = _pixels(_frame(game_elements={element: True}), color) - without
    assert more == pixels if pixels is not None else more > 50


def test_the_player_is_always_there_in_its_size() -> None:
    frame = _frame(player_settings={"width": 0.25, "height": 0.0953})
    assert _pixels(frame, _GREEN) == 21 * 8
    rows, cols = np.nonzero((frame == _GREEN).all(axis=2))
    assert cols.min() + cols.max() in (83, 84)  # in the middle
    assert rows.max() == 73


def test_only_allowed_actions_move_the_player() -> None:
    moves = {1: "up", 2: "down", 3: "left", 4: "right"}
    for action, name in moves.items():
        for allowed in (False, True):
            others = {other: True for other in moves.values() if other != name}
            env = _made(actions={**others, name: allowed})
            before = policies.see(env).player
            env.step(action)
            after = policies.see(env).player
            assert ((before.x, before.y) != (after.x, after.y)) == allowed


def test_a_continuous_action_moves_by_its_share_and_shooting_stands_still() -> None:
    env = Arcade(make_config("duel"), continuous=True)
    env.reset(seed=1)
    x = policies.see(env).player.x
    env.step([0.5, 1.0, 0.0])
    assert policies.see(env).player.x == pytest.approx(x + 2 * 0.5 * 0.01)
    env.step([-9.0, 0.0, -1.0])
    assert policies.see(env).player.x == pytest.approx(x - 0.01)
    env.step([1.0, 0.0, 1.0])
    assert policies.see(env).player.x == pytest.approx(x - 0.01)
    assert policies.see(env).shot.alive


def test_speed_is_sides_of_the_screen_a_tick_and_a_step_has_two() -> None:
    env = _made(player_settings={"speed": 0.02})
    x = policies.see(env).player.x
    env.step(4)
    assert policies.see(env).player.x == pytest.approx(x + 0.04)


def test_an_opponent_with_skill_follows_the_ball() -> None:
    on = {"ball": True, "opponent": True, "top_wall": True, "bottom_wall": True}
    config = make_config({}, {"game_elements": on, "opponent_settings": {"tracks_ball": True}})
    apart = {}
    for skill in (0.0, 1.0):
        config["opponent_settings"]["skill_level"] = skill
        env = Arcade(config)
        env.reset(seed=1)
        total = 0.0
        for _ in range(300):
            env.step(0)
            seen = policies.see(env)
            total += abs(seen.opponent.x - seen.rest[0].x)
        apart[skill] = total
    assert apart[1.0] < 0.5 * apart[0.0]


def test_an_opponent_shoots_only_if_it_can() -> None:
    for can_shoot in (False, True):
        env = _made(game_elements={"opponent": True}, opponent_settings={"can_shoot": can_shoot})
        shot = False
        for _ in range(300):
            if env.step(0)[2]:
                break
            shot = shot or bool(policies.see(env).return_shot.alive)
        assert shot == can_shoot


def test_balls_are_as_many_as_big_and_as_fast_as_said() -> None:
    env = _made(game_elements={"ball": True}, ball_settings={"num_balls": 3, "speed": 0.02})
    balls = policies.see(env).rest
    assert len(balls) == 3
    assert all(np.hypot(ball.vx, ball.vy) == pytest.approx(0.02) for ball in balls)
    sizes = [0.05, 0.1, 0.2]
    discs = [_frame(game_elements={"ball": True}, ball_settings={"size": size}) for size in sizes]
    assert [_pixels(frame, _YELLOW) for frame in discs] == [12, 52, 225]


def test_a_harmful_ball_is_a_ring() -> None:
    ball = {"size": 0.2}
    full = _frame(game_elements={"ball": True}, ball_settings=ball)
    ring = _frame(game_elements={"ball": True}, ball_settings={**ball, "harmful": True})
    assert 0 < _pixels(ring, _YELLOW) < 0.5 * _pixels(full, _YELLOW)
    assert _pixels(full[41:43, 41:43], _YELLOW) == 4
    assert _pixels(ring[41:43, 41:43], _YELLOW) == 0


@pytest.mark.parametrize("size", [0.036, 0.048, 0.06])
def test_a_small_harmful_ball_has_a_hole(size: float) -> None:
    full, ring = (
        _frame(game_elements={"ball": True}, ball_settings={"size": size, "harmful": harmful})
        for harmful in (False, True)
    )
    assert 0 < _pixels(ring, _YELLOW) < _pixels(full, _YELLOW)


@pytest.mark.parametrize(("rows", "cols"), [(4, 6), (6, 14)])
def test_harmful_blocks_are_crossed_out(rows: int, cols: int) -> None:
    full, crossed = (
        _frame(
            game_elements={"blocks": True},
            blocks_settings={"rows": rows, "cols": cols, "harmful": harmful},
        )
        for harmful in (False, True)
    )
    assert 0 < _pixels(crossed, _RED) < _pixels(full, _RED)


def test_a_barrier_is_seen_before_blocks() -> None:
    area = {"creation_area": [0.2, 0.2, 0.4, 0.4], "rows": 1, "cols": 1, "spacing": 0.0}
    settings = {"blocks_settings": area, "static_barrier_settings": area}
    alone = _frame(game_elements={"static_barriers": True}, **settings)
    both = _frame(game_elements={"static_barriers": True, "blocks": True}, **settings)
    assert _pixels(alone, _BLUE) == _pixels(both, _BLUE)


def test_a_grid_has_as_many_rows_and_columns_and_in_a_row_as_said() -> None:
    grid = {"rows": 3, "cols": 7, "per_row": 2}
    env = _made(game_elements={"blocks": True}, blocks_settings=grid)
    blocks = policies.see(env).rest
    assert len(blocks) == 6
    assert len({block.y for block in blocks}) == 3
    places = set()
    for seed in range(20):
        env.reset(seed=seed)
        places |= {block.x for block in policies.see(env).rest}
    assert len(places) == 7


def test_a_clear_path_leads_through_a_full_grid() -> None:
    grid = {"rows": 5, "cols": 6, "spacing": 0.0, "clear_path": True}
    env = _made(game_elements={"static_barriers": True}, static_barrier_settings=grid)
    for seed in range(20):
        env.reset(seed=seed)
        walls = policies.see(env).walls
        rows = sorted({wall[1] for wall in walls})
        assert len(rows) == 5
        assert all(sum(wall[1] == row for wall in walls) in (4, 5) for row in rows)


def test_spacing_leaves_gaps() -> None:
    dense, loose = (
        _frame(game_elements={"blocks": True}, blocks_settings={"spacing": spacing})
        for spacing in (0.0, 0.5)
    )
    area = dense[11:34, 4:81]
    assert _pixels(area, _RED) == area.shape[0] * area.shape[1]
    assert _pixels(loose, _RED) < 0.4 * _pixels(dense, _RED)


def test_bars_show_the_score_and_the_actions() -> None:
    lamp, dark = [240, 210, 120], [30, 30, 40]
    still, firing = (
        _frame(actions={"left": False, "right": False, "fire": fire}) for fire in (False, True)
    )
    assert _pixels(still[78:], lamp) == 0
    assert _pixels(firing[78:], lamp) == 12 * 2
    assert _pixels(still[:6], dark) == 82 * 2
    env = _made(
        game_elements={"blocks": True},
        blocks_settings={
            "creation_area": [0.0, 0.8, 1.0, 0.1],
            "points": 25.0,
            "cols": 1,
            "rows": 1,
        },
    )
    frame, points, *_ = env.step(0)
    assert points == 25.0
    assert _pixels(frame[:6], lamp) == 20 * 2


def test_an_image_is_turned_inverted_and_shifted_as_said() -> None:
    on = {"ball": True, "blocks": True}
    plain = _frame(game_elements=on)
    for turns in (1, 2, 3):
        turned = _frame(game_elements=on, image_settings={"rotation": turns})
        assert np.array_equal(turned, np.rot90(plain, turns))
    inverted = _frame(game_elements=on, image_settings={"color_inversion": True})
    assert np.array_equal(inverted, 255 - plain)
    shifted = _frame(game_elements=on, image_settings={"hue_shift": 1 / 3})
    assert _pixels(shifted, [0, 255, 0]) == _pixels(plain, [255, 0, 0])
    grey = _frame(game_elements=on, image_settings={"saturation_shift": -1.0})
    assert (grey[..., 0] == grey[..., 1]).all()
    dark = _frame(game_elements=on, image_settings={"value_shift": -1.0})
    assert not dark.any()

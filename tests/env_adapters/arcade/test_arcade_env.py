"""The arcade as an environment: Gymnasium's own check, episodes, chance and its end."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.arcade import GAMES, Arcade, make_config
from env_adapters.determinism import check_determinism
from env_adapters.gymnasium import Gymnasium
from reglue.environments.world import Restorable, Seeded
from reglue.errors import BadArgument, UsageError
from tests.env_adapters.arcade import policies
from tests.error_facts import raises
from tests.programs import run_python

_ROWS = {"rows": {"distribution": "uniform", "low": 1, "high": 9}}
_WIDTHS = {"distribution": "uniform", "low": 0.1, "high": 0.3}


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_gymnasium_finds_nothing_wrong(game: str, continuous: bool) -> None:
    env = gymnasium.make("Reglue/Arcade-v0", config=game, continuous=continuous)
    check_env(env.unwrapped, skip_render_check=True)


def test_meta_arcades_ids_are_ours() -> None:
    seen = []
    for name in ("MetaArcade-v0", "Reglue/Arcade-v0"):
        env = gymnasium.make(name, config="pong", headless=True)
        assert isinstance(env.unwrapped, Arcade)
        seen.append(env.reset(seed=1)[0].tobytes())
    assert seen[0] == seen[1]
    between = gymnasium.make(
        "MetaArcadeInterpolate-v0", config1="pong", config2="pong", duration=2, headless=True
    )
    assert between.reset(seed=1)[0].shape == (84, 84, 3)


def test_a_benchmark_may_name_meta_arcades_id_too() -> None:
    """As a fresh process finds it, which has not imported the arcade."""
    program = """
import sys
from env_adapters.gymnasium import Gymnasium
print(*Gymnasium("MetaArcade-v0", config="pong").variants)
"""
    assert run_python(program).stdout == "MetaArcade-v0\n"


def test_rendering_gives_the_frame_that_was_seen() -> None:
    env = gymnasium.make("Reglue/Arcade-v0", config="duel", render_mode="rgb_array")
    env.reset(seed=1)
    seen, *_ = env.step(3)
    assert np.array_equal(env.render(), seen)  # type: ignore[arg-type]
    assert seen.shape == (84, 84, 3)
    assert seen.dtype == np.uint8


def test_a_frame_is_the_callers_own() -> None:
    env = Arcade("pong", render_mode="rgb_array")
    frame, _ = env.reset(seed=1)
    frame[:] = 7
    assert not np.array_equal(env.render(), frame)  # type: ignore[arg-type]


@pytest.mark.parametrize("game", GAMES)
def test_who_plays_scores_more_than_who_waits(game: str) -> None:
    waited = policies.score(game, policies.wait, 2, most_steps=400)
    played = policies.score(game, policies.players()[game], 5, most_steps=3000)
    assert played > max(waited, 50.0)


def test_episodes_are_the_same_in_another_process() -> None:
    program = (
        "from tests.env_adapters.arcade.test_arcade_env import played_digest;print(played_digest())"
    )
    there = [run_python(program).stdout.strip() for _ in range(2)]
    assert there == [played_digest()] * 2


def played_digest() -> str:
    """Of frames, points and flags of three episodes of each game."""
    digest = hashlib.sha256()
    for game in GAMES:
        env = Arcade(game)
        actions = np.random.default_rng(1).integers(6, size=400).tolist()
        digest.update(env.reset(seed=3)[0].tobytes())
        for action in actions:
            frame, *rest = env.step(action)
            digest.update(frame.tobytes() + json.dumps(rest).encode())
            if rest[1] or rest[2]:
                digest.update(env.reset()[0].tobytes())
    return digest.hexdigest()


def test_a_distribution_is_drawn_once_an_episode() -> None:
    env = Arcade(make_config("pong", {"player_settings": {"width": _WIDTHS}}))
    widths: list[float] = []
    for _ in range(5):
        env.reset(seed=None if widths else 1)
        width = policies.see(env).player.w
        for _ in range(10):
            env.step(0)
            assert policies.see(env).player.w == width
        widths.append(width)
    assert len(set(widths)) == 5
    again = Arcade(make_config("pong", {"player_settings": {"width": _WIDTHS}}))
    again.reset(seed=1)
    assert policies.see(again).player.w == widths[0]
    assert all(0.1 <= width <= 0.3 for width in widths)


def test_an_episode_plays_the_config_that_its_reset_is_given() -> None:
    env = Arcade("pong")
    config = make_config("pong", {"player_settings": {"width": 0.35}})
    env.reset(seed=1, options={"config": config})
    assert policies.see(env).player.w == 0.35
    env.reset()
    assert policies.see(env).player.w == 0.2


def test_what_was_drawn_too_far_is_cut_to_its_bound() -> None:
    wild = {"distribution": "normal", "mean": 0.2, "std": 100.0}
    color = {"distribution": "normal", "mean": [128, 128, 128], "std": [999, 999, 999]}
    env = Arcade(make_config("pong", {"player_settings": {"width": wild, "color": color}}))
    widths = set()
    for seed in range(10):
        env.reset(seed=seed)
        widths.add(policies.see(env).player.w)
    assert {0.01, 0.5} <= widths


def test_what_should_be_whole_is_rounded_where_it_was_drawn() -> None:
    balls = {"num_balls": {"distribution": "uniform", "low": 1.0, "high": 3.0}}
    env = Arcade(make_config({}, {"game_elements": {"ball": True}, "ball_settings": balls}))
    found = set()
    for seed in range(20):
        env.reset(seed=seed)
        found.add(len(policies.see(env).rest))
    assert found == {1, 2, 3}


def test_a_refused_config_leaves_the_episode_as_it_was() -> None:
    env = Arcade("pong")
    env.reset(seed=1)
    before, rng = env.get_inside(), env.np_random.bit_generator.state
    for config in ({"player_settings": {"width": _WIDTHS}}, {"player_settings": {"wide": 0.1}}):
        with pytest.raises(UsageError):
            env.reset(seed=2, options={"config": config})
    assert env.np_random.bit_generator.state == rng
    assert np.array_equal(env.get_inside()["bodies"], before["bodies"])


def test_an_episode_is_cut_off_after_as_many_steps_as_the_config_says() -> None:
    env = Arcade(make_config("freeway", {"meta": {"max_episode_length": 7}}))
    env.reset(seed=1)
    ends = [env.step(0)[2:4] for _ in range(7)]
    assert ends == [(False, False)] * 6 + [(False, True)]


def test_a_lost_ball_ends_the_episode_without_success() -> None:
    env = Arcade("breakout")
    env.reset(seed=1)
    points, terminated = 0.0, False
    while not terminated:
        _, points, terminated, truncated, info = env.step(0)
        assert not truncated
    assert points <= -99.0
    assert info["is_success"] is False
    with raises(UsageError, "reset"):
        env.step(0)


def test_small_events_at_once_are_no_big_one() -> None:
    """Two blocks of 50 points fall out after one of 60 was collected: 60 - 100 is no loss."""
    blocks = {
        "creation_area": [0.0, 0.8, 1.0, 0.08],
        "rows": 1,
        "cols": 3,
        "static_weave_fall": "fall",
        "speed": 0.01,
        "points": 60.0,
        "fall_points": -50.0,
    }
    env = Arcade(make_config({}, {"game_elements": {"blocks": True}, "blocks_settings": blocks}))
    env.reset(seed=1)
    points, ended = 0.0, False
    while points >= 0.0 and not ended:
        _, points, ended, _, info = env.step(0)
    assert (points, info["score"], ended) == (-100.0, -40.0, False)


def test_the_first_ball_that_is_out_ends_the_episode() -> None:
    balls = {"num_balls": 2, "speed": 0.0}
    env = Arcade(make_config({}, {"game_elements": {"ball": True}, "ball_settings": balls}))
    env.reset(seed=1)
    inside = env.get_inside()
    inside["bodies"][-2:, 1] = -0.06, 1.01
    env.set_inside(inside)
    _, points, terminated, *_ = env.step(0)
    assert (points, terminated) == (100.0, True)


def test_leaving_the_maze_is_a_success() -> None:
    env, walk = Arcade("maze"), policies.Walk()
    env.reset(seed=4)
    terminated = False
    while not terminated:
        _, _, terminated, _, info = env.step(walk(policies.see(env)))
    assert info == {"score": 100.0, "is_success": True}


@pytest.mark.parametrize("action", [6, -1, 1.0, "up", None, [1], [[1], 2], True])
def test_what_is_no_discrete_action_is_refused(action: Any) -> None:
    env = Arcade("pong")
    env.reset(seed=1)
    before = env.get_inside()["bodies"]
    with raises(BadArgument, "action", "0 to 5"):
        env.step(action)
    assert np.array_equal(env.get_inside()["bodies"], before)


@pytest.mark.parametrize("action", [0, [0, 0], [0, 0, np.nan], ["a", "b", "c"], [[1], 0, 0]])
def test_what_is_no_continuous_action_is_refused(action: Any) -> None:
    env = Arcade("pong", continuous=True)
    env.reset(seed=1)
    with raises(BadArgument, "action"):
        env.step(action)


def test_nothing_goes_before_the_first_reset() -> None:
    env = Arcade("pong", render_mode="rgb_array")
    for what in (lambda: env.step(0), env.render, env.get_inside):
        with raises(UsageError, "reset"):
            what()
    with raises(BadArgument, "options", [1]):
        env.reset(options=[1])  # type: ignore[arg-type]
    with raises(BadArgument, "'human'", "rgb_array"):
        Arcade("pong", render_mode="human")
    with raises(BadArgument, got="continuous 'no'"):
        Arcade("pong", continuous="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("game", GAMES)
def test_a_game_is_kept_restored_and_standardised_as_cells(game: str) -> None:
    config = make_config(game, {"blocks_settings": _ROWS} if game == "breakout" else None)
    suite = Gymnasium("env_adapters.arcade:Reglue/Arcade-v0", config=config)
    assert suite.standardizes
    with closing(suite.world()) as world:
        assert isinstance(world, Restorable)
        assert isinstance(world, Seeded)
    check_determinism(suite, episodes=2, steps=12)

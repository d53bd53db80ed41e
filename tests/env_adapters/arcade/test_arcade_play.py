"""An episode goes on to the bit from its insides, here and in another environment."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from env_adapters.arcade import GAMES, Arcade, make_config
from env_adapters.arcade.scene import WALL
from reglue.errors import UsageError
from reglue.spec import Array
from tests.env_adapters.arcade import policies

_VARIED = {
    "player_settings": {
        "color": {"distribution": "color", "hrange": [0, 1], "srange": [0, 1], "lrange": [0, 1]}
    },
    "ball_settings": {"size": {"distribution": "uniform", "low": 0.02, "high": 0.1}},
    "blocks_settings": {"rows": {"distribution": "uniform", "low": 1, "high": 9}},
    "image_settings": {"rotation": {"distribution": "uniform", "low": 0, "high": 3}},
}


@pytest.mark.parametrize("game", GAMES)
def test_it_goes_on_to_the_bit(game: str) -> None:
    config = make_config(game, _VARIED)
    actions = np.random.default_rng(0).integers(6, size=120).tolist()
    for kept_after in (0, 1, 17, 60):
        env = Arcade(config)
        env.reset(seed=kept_after)
        alive = all(not any(env.step(action)[2:4]) for action in actions[:kept_after])
        if not alive:
            continue
        inside, rng = env.get_inside(), copy.deepcopy(env.np_random)
        wanted = _rest(env, actions[kept_after:])
        fresh = Arcade(config)
        fresh.set_inside(inside)
        fresh.np_random = copy.deepcopy(rng)
        assert _rest(fresh, actions[kept_after:]) == wanted
        env.reset()
        env.set_inside(inside)
        env.np_random = rng
        assert _rest(env, actions[kept_after:]) == wanted


def test_score_and_steps_go_on() -> None:
    env = Arcade(make_config("breakout", {"meta": {"max_episode_length": 700}}))
    env.reset(seed=1)
    info: dict[str, Any] = {}
    for _ in range(600):
        info = env.step(policies.follow(policies.see(env)))[4]
    assert info["score"] > 0
    other = Arcade("pong")
    other.set_inside(env.get_inside())
    assert other.step(0)[4]["score"] >= info["score"]
    ends = [other.step(policies.follow(policies.see(other)))[3] for _ in range(99)]
    assert ends == [False] * 98 + [True]


def test_insides_are_copies() -> None:
    env = Arcade("breakout")
    env.reset(seed=1)
    inside = env.get_inside()
    for array in inside.values():
        array[:] = 0
    assert env.get_inside()["bodies"].any()


def test_a_pool_of_episodes_shares_nothing() -> None:
    env, other = Arcade("pong"), Arcade("pong")
    env.reset(seed=1)
    other.set_inside(env.get_inside())
    before = env.get_inside()["bodies"]
    other.step(3)
    assert np.array_equal(env.get_inside()["bodies"], before)


def _put(place: Any, value: float) -> Callable[[Array], Array]:
    def spoil(array: Array) -> Array:
        spoiled = array.copy()
        spoiled[place] = value
        return spoiled

    return spoil


SPOILED: dict[str, tuple[str, Callable[[Array], Array | None]]] = {
    "no config": ("config", lambda config: None),
    "no JSON": ("config", _put(0, ord("["))),
    "a deep config": ("config", lambda config: np.frombuffer(b"[" * 100_000, np.uint8)),
    "few bodies": ("bodies", lambda bodies: bodies[:3]),
    "other bodies": ("bodies", lambda bodies: np.concatenate([bodies, bodies])),
    "narrow bodies": ("bodies", lambda bodies: bodies[:, :5]),
    "a place that is no number": ("bodies", _put((0, 0), np.nan)),
    "a huge player": ("bodies", _put((0, 2), 1e9)),
    "a flat player": ("bodies", _put((0, 2), 0.0)),
    "walls of another dtype": ("walls", lambda walls: walls.astype(np.float32)),
    "half a step": ("progress", _put(1, 1.5)),
}


@pytest.mark.parametrize(("name", "spoil"), SPOILED.values(), ids=SPOILED)
def test_what_is_no_inside_changes_nothing(
    name: str, spoil: Callable[[Array], Array | None]
) -> None:
    env = Arcade("pong")
    env.reset(seed=1)
    env.step(3)
    before = env.get_inside()
    inside: dict[str, Array | None] = {**before, name: spoil(before[name])}
    with pytest.raises(UsageError):
        env.set_inside({key: array for key, array in inside.items() if array is not None})
    assert all(np.array_equal(before[key], env.get_inside()[key]) for key in before)


def test_nothing_passes_the_walls_at_the_sides() -> None:
    for game in GAMES:
        env = Arcade(game)
        env.reset(seed=2)
        for action in np.random.default_rng(2).integers(6, size=500).tolist():
            if any(env.step(action)[2:4]):
                env.reset()
            bodies = env.get_inside()["bodies"][:2]
            assert (bodies[:, 0] >= WALL).all()
            assert (bodies[:, 0] + bodies[:, 2] <= 1 - WALL + 1e-12).all()


def _rest(env: Arcade, actions: list[int]) -> list[Any]:
    """Frames, points and flags up to the end."""
    rest = []
    for action in actions:
        frame, *others = env.step(action)
        rest.append((frame.tobytes(), *others))
        if others[1] or others[2]:
            break
    return rest

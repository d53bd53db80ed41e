"""The original Meta Arcade behind its adapter, where it is installed."""

from __future__ import annotations

import importlib.util
import random
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.arcade import MetaArcade
from reglue.errors import CannotLoad, UnknownName, UsageError

_THERE = importlib.util.find_spec("meta_arcade") is not None
original = pytest.mark.skipif(not _THERE, reason="needs the package meta_arcade")
_GAMES = ("breakout", "duel", "freeway", "hedge_maze", "invasion", "juggling", "pong", "sweeper")


@pytest.mark.skipif(_THERE, reason="meta_arcade is installed")
def test_without_the_original_it_says_what_to_install() -> None:
    with pytest.raises(CannotLoad, match="needs the package meta_arcade"):
        MetaArcade("pong")


@original
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("game", _GAMES)
def test_gymnasium_finds_nothing_wrong(game: str, continuous: bool) -> None:
    check_env(MetaArcade(game, continuous=continuous), skip_render_check=True)


@original
def test_it_plays_as_the_original_and_leaves_the_global_generators_alone() -> None:
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002 - they are what is to be left alone
    wanted = random.random(), np.random.random()  # noqa: NPY002
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    env, other = MetaArcade("duel"), MetaArcade("invasion")
    alone = _played(env, between=lambda: None)
    assert _played(env, between=lambda: other.reset(seed=1)) == alone
    assert (random.random(), np.random.random()) == wanted  # noqa: NPY002


@original
def test_what_takes_too_long_is_truncated_and_what_is_lost_terminated() -> None:
    config = {**_config("duel"), "meta": {"max_episode_length": 4}}
    env = MetaArcade("pong")
    env.reset(seed=1, options={"config": config})
    assert [env.step(0)[2:4] for _ in range(4)] == [(False, False)] * 3 + [(False, True)]
    env = MetaArcade("breakout")
    env.reset(seed=1)
    terminated = False
    while not terminated:
        _, points, terminated, truncated, _ = env.step(0)
        assert not truncated
    assert points == -100.0


@original
def test_an_unknown_game_and_action_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean"):
        MetaArcade("pomg")
    env = MetaArcade("pong")
    env.reset(seed=1)
    with pytest.raises(UsageError, match="got the action 9"):
        env.step(9)


def _config(game: str) -> dict[str, Any]:
    package = importlib.import_module("meta_arcade")
    config: dict[str, Any] = package.make_config(game).parameter_dictionary()
    return config


def _played(env: MetaArcade, between: Any) -> list[Any]:
    """Frames and points of an episode from one seed, `between` its steps something else."""
    played: list[Any] = [env.reset(seed=7)[0].tobytes()]
    for action in [3, 5, 0, 4, 5] * 20:
        between()
        frame, *rest = env.step(action)
        played.append((frame.tobytes(), *rest[:3]))
        if rest[1] or rest[2]:
            break
    return played

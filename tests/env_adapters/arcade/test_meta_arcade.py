"""The original Meta Arcade behind its adapter, where it is installed."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.arcade import Arcade, MetaArcade
from reglue.errors import BadArgument, CannotLoad, SpecError, UnknownName, UsageError
from tests.error_facts import raises

_THERE = importlib.util.find_spec("meta_arcade") is not None
original = pytest.mark.skipif(not _THERE, reason="needs the package meta_arcade")
_GAMES = ("breakout", "duel", "freeway", "hedge_maze", "invasion", "juggling", "pong", "sweeper")


@pytest.mark.skipif(_THERE, reason="meta_arcade is installed")
def test_without_the_original_it_says_what_to_install() -> None:
    with raises(CannotLoad, "MetaArcade", "meta_arcade"):
        MetaArcade("pong")


@pytest.mark.skipif(_THERE, reason="meta_arcade is installed")
def test_the_originals_import_leaves_its_ids_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original registers them; without the package gym that is in Gymnasium's registry."""
    package = tmp_path / "meta_arcade"
    package.mkdir()
    register = "from gym.envs.registration import register; register('MetaArcade-v0', 'x:y')"
    for name, text in {
        "__init__": f"{register}; from . import Config",
        "Config": "class MAConfig: ...",
        "GameDisplay": "",
        "MetaArcade": "",
    }.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(TypeError):  # registering is all that this one does
            MetaArcade("pong")
    finally:
        for name in [name for name in sys.modules if name.startswith("meta_arcade")]:
            del sys.modules[name]
    assert isinstance(gymnasium.make("MetaArcade-v0", config="pong").unwrapped, Arcade)


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
def test_a_config_that_a_reset_is_given_is_for_one_episode() -> None:
    env = MetaArcade("pong")
    wanted = env.reset(seed=1)[0].tobytes()
    assert env.reset(seed=1, options={"config": "breakout"})[0].tobytes() != wanted
    assert env.reset(seed=1)[0].tobytes() == wanted


@original
def test_an_unknown_game_and_action_are_refused() -> None:
    with raises(UnknownName, "pong", got="pomg"):
        MetaArcade("pomg")
    env = MetaArcade("pong")
    env.reset(seed=1)
    with raises(BadArgument, "action 9"):
        env.step(9)


@original
def test_a_config_that_cannot_be_played_is_refused_at_once(tmp_path: Path) -> None:
    fast = {**_config("pong"), "ball_settings": {"size": 0.05, "speed": "fast"}}
    for config, named in (
        ({}, ["Meta Arcade", "KeyError"]),
        (fast, ["Meta Arcade"]),
        (3, ["config 3"]),
    ):
        with raises(SpecError, *named):
            MetaArcade(config)  # type: ignore[arg-type]
    with raises(CannotLoad, tmp_path / "none.json"):
        MetaArcade(str(tmp_path / "none.json"))


@original
def test_where_no_episode_is_on_a_step_is_refused() -> None:
    env = MetaArcade("breakout")
    with raises(UsageError, "reset"):
        env.step(0)
    env.reset(seed=1)
    while not env.step(0)[2]:
        pass
    with raises(UsageError, "reset"):
        env.step(0)
    env.reset()
    with pytest.raises(SpecError):
        env.reset(options={"config": {}})
    with raises(UsageError, "reset"):
        env.step(0)


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

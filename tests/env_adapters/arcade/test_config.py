"""Configs: by name, file or dict; what is wrong in one is said with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from env_adapters.arcade import GAMES, Arcade, make_config
from env_adapters.environment_configs import JSON
from env_adapters.environment_configs.values import ConfigError
from reglue.errors import CannotLoad, UnknownName, UsageError
from tests.error_facts import raises
from tests.programs import run_python

_SECTIONS = [
    "meta",
    "actions",
    "game_elements",
    "display_settings",
    "player_settings",
    "opponent_settings",
    "ball_settings",
    "blocks_settings",
    "static_barrier_settings",
    "maze_settings",
    "image_settings",
]


@pytest.mark.parametrize("game", GAMES)
def test_a_games_config_is_whole_and_json(game: str) -> None:
    config = make_config(game)
    assert list(config) == _SECTIONS
    assert config["meta"]["description"]
    assert json.loads(json.dumps(config)) == config
    assert make_config(config) == config


def test_a_config_is_the_callers_own() -> None:
    config = make_config("pong")
    config["ball_settings"]["color"][0] = 1
    assert make_config("pong")["ball_settings"]["color"][0] == 255
    env = Arcade(config)
    before = env.reset(seed=1)[0].tobytes()
    config["ball_settings"]["size"] = 0.3
    assert env.reset(seed=1)[0].tobytes() == before


def test_a_copy_shares_nothing() -> None:
    grey = make_config("pong")
    blue = grey.copy()
    blue["display_settings"]["background_color"] = [100, 100, 255]
    assert grey == make_config("pong")
    assert blue.copy() == blue
    assert blue.parameter_dictionary() is blue


def test_changes_replace_keys_and_keep_the_others() -> None:
    changed = make_config("breakout", {"ball_settings": {"speed": 0.02}})
    config = make_config("breakout")
    assert changed["ball_settings"] == {**config["ball_settings"], "speed": 0.02}
    assert changed["blocks_settings"] == config["blocks_settings"]


def test_a_file_is_a_config_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"game_elements": {"ball": True}}))
    for given in (path, str(path)):
        assert make_config(given)["game_elements"]["ball"] is True
    path.write_text("{")
    for unreadable in (path, tmp_path / "none.json"):
        with raises(CannotLoad, unreadable):
            make_config(unreadable)


def test_distributions_stay_in_the_config() -> None:
    drawn: JSON = {"distribution": "uniform", "low": [0, 0, 0], "high": [9, 9, 9]}
    red = [{"distribution": "uniform", "low": 0, "high": 255}, 0, 0]
    config = make_config("pong", {"display_settings": {"ui_color": drawn, "background_color": red}})
    assert config["display_settings"]["ui_color"] == drawn
    assert config["display_settings"]["background_color"] == red


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ball_setings": {}}, "'ball_setings'; did you mean ball_settings"),
        ({"ball_settings": {"sped": 1}}, "ball_settings 'sped'; did you mean speed"),
        ({"ball_settings": 3}, "ball_settings: got 3, wanted a table"),
        ({"ball_settings": {"speed": 1}}, "ball_settings.speed: got 1, wanted a number"),
        ({"ball_settings": {"speed": float("nan")}}, "got nan, wanted a number from 0.0"),
        ({"ball_settings": {"speed": "fast"}}, "got 'fast', wanted a number from 0.0"),
        ({"ball_settings": {"speed": True}}, "got True, wanted a number from 0.0"),
        ({"ball_settings": {"num_balls": 1.5}}, "wanted an integer from 1 to 3"),
        (
            {"ball_settings": {"color": [1, 2]}},
            "ball_settings.color: got [1, 2], wanted",
        ),
        ({"ball_settings": {"color": [1, 2, 256]}}, "color[2]: got 256, wanted an integer"),
        ({"ball_settings": {"color": "red"}}, "got 'red', wanted a list of numbers"),
        ({"ball_settings": {"num_balls": 10**400}}, "wanted an integer from 1 to 3"),
        ({"ball_settings": {1: 2}}, "ball_settings[1]: got 1, wanted keys that are text"),
        ([1], "changes: got [1], wanted a table of sections"),
        ({"actions": {"up": 1}}, "actions.up: got 1, wanted true or false"),
        ({"meta": {"description": 1}}, "meta.description: got 1, wanted text"),
        (
            {"blocks_settings": {"per_row": "ful"}},
            'wanted an integer from 0 to 30 or "f',
        ),
        (
            {"blocks_settings": {"static_weave_fall": "up"}},
            "'static', 'weave' or 'fall'",
        ),
        (
            {"blocks_settings": {"creation_area": [0, 0, 1, -1]}},
            "creation_area[3]: got -1",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(changes: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Arcade(make_config("pong", changes))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        ({"distribution": "unform", "low": 0, "high": 1}, "did you mean uniform"),
        ({"distribution": "uniform", "low": 0.1}, "ball_settings.speed: a uniform"),
        (
            {"distribution": "uniform", "low": 0.1, "high": 0.3},
            "draws that are a number from 0.0 to",
        ),
        (
            {"distribution": "normal", "mean": 9.0, "std": 0.1},
            "draws that are a number from 0.0 to 0.2",
        ),
        (
            {"distribution": "color", "hrange": [0, 1], "srange": [0, 1], "lrange": [0, 1]},
            "draws that are a number",
        ),
        ({"distribution": "uniform", "low": [0.1], "high": [0.1]}, "draws that are a number"),
    ],
)
def test_a_distribution_of_what_cannot_be_is_refused_at_once(drawn: JSON, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_config("pong", {"ball_settings": {"speed": drawn}})
    assert message in str(raised.value)


def test_a_list_that_is_drawn_too_short_is_refused() -> None:
    drawn: JSON = {"distribution": "uniform", "low": [0, 0], "high": [9, 9]}
    with raises(ConfigError, "a list of numbers", path="ball_settings.color"):
        make_config("pong", {"ball_settings": {"color": drawn}})


@pytest.mark.parametrize(
    ("game", "error", "message"),
    [
        ("pomg", UnknownName, "there is no game 'pomg'; did you mean pong?"),
        ([3], ConfigError, "the config: got [3], wanted a table"),
        (None, ConfigError, "the config: got None, wanted a table"),
    ],
)
def test_what_is_no_game_is_refused(game: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        Arcade(game)
    assert message in str(raised.value)


@pytest.mark.parametrize("package", ["gymnasium", "pydantic"])
def test_a_missing_package_is_said_with_the_extra(package: str) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from reglue.errors import MissingExtra\n"
        "try:\n import env_adapters.arcade\n"
        "except MissingExtra as error:\n print(error)"
    )
    assert "pip install 'reglue[gymnasium]'" in run_python(program).stdout

"""Curricula of the arcade's games, as Meta Arcade's documentation shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from env_adapters.arcade import make_config
from env_adapters.curricula import NamedEnv, get_first_frames, make_curriculum
from env_adapters.environment_configs.values import ConfigError
from tests.env_adapters.curricula.scripted import by_episodes
from tests.error_facts import raises

PLACE = (slice(30, 40), slice(20, 30))  # where pong shows its background


def pong(colour: Any) -> dict[str, Any]:
    config = make_config("pong")
    config["display_settings"]["background_color"] = colour
    return config


def colours(sheet: Any, count: int) -> list[list[int]]:
    return [sheet[PLACE[0], 84 * k + 20][0].tolist() for k in range(count)]


def test_names_configs_and_files_are_games(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(make_config("duel")))
    schedule = [["pong", 1], [make_config("breakout"), 1], ["arcade:maze", 1], [str(file), 1]]
    env, total = by_episodes(schedule)
    assert total == 4
    names = []
    for k in range(4):
        env.reset(options={"episode": k})
        names.append(env.name)
    assert names == ["pong", "arcade", "maze", "arcade"]


def test_colours_are_interpolated_episode_by_episode() -> None:
    schedule = [[{"interpolate": [pong([128, 128, 128]), pong([100, 100, 255])]}, 4]]
    env, total = by_episodes(schedule)
    sheet = get_first_frames(env, total)
    assert colours(sheet, 4) == [[121, 121, 160], [114, 114, 192], [107, 107, 223], [100, 100, 255]]


def test_an_interpolation_is_an_environment_by_itself() -> None:
    ends: dict[str, Any] = {"config1": pong([128, 128, 128]), "config2": pong([100, 100, 255])}
    env = gymnasium.make("Reglue/ArcadeInterpolate-v0", **ends, duration=4, episodic=True)
    found = [env.reset(options={"episode": k})[0][PLACE][0, 0].tolist() for k in (0, 3, 9)]
    assert found == [[121, 121, 160], [100, 100, 255], [100, 100, 255]]


def test_the_spread_of_a_distribution_is_interpolated() -> None:
    grey = [128, 128, 128]
    one, other = (
        pong({"distribution": "normal", "mean": grey, "std": [std] * 3}) for std in (0, 60)
    )
    env, _ = by_episodes([[{"interpolate": [one, other]}, 50]])
    found = []
    for k in range(50):
        frame, _ = env.reset(options={"episode": k})
        found.append(frame[PLACE][0, 0].astype(float) - 128)
    early, late = np.std(found[:10]), np.std(found[40:])
    assert early < 15
    assert late > 30


def test_games_are_pooled() -> None:
    env, _ = by_episodes([[{"pool": ["pong", "breakout", "duel"]}, 20]])
    names = []
    for k in range(20):
        env.reset(options={"episode": k})
        names.append(env.name)
    assert set(names) == {"pong", "breakout", "duel"}


def test_given_games_may_be_named() -> None:
    import gymnasium

    games = [
        [NamedEnv(gymnasium.make("Reglue/Arcade-v0", config=game), name), 1]
        for game, name in (("pong", [1, 0]), ("breakout", [0, 1]))
    ]
    env, _ = by_episodes(games, task_id=True)
    told = [env.reset(options={"episode": k})[0]["task_id"].tolist() for k in range(2)]
    assert told == [[1, 0], [0, 1]]


def test_keywords_reach_every_game() -> None:
    env, _ = by_episodes([["pong", 1], ["duel", 1]], continuous=True)
    assert env.action_space.shape == (3,)


def test_steps_divide_among_workers() -> None:
    schedule = [["pong", 500], ["breakout", 500]]
    totals = [make_curriculum(schedule, episodic=False, across_workers=n)[1] for n in (1, 4)]
    assert totals == [1000, 250]


@pytest.mark.parametrize(
    ("schedule", "options", "path", "named"),
    [
        ([["pogn", 1]], {}, "schedule[0]", ["environment 'pogn'", "pong"]),
        ([[{"env": "arcade:pogn"}, 1]], {}, "schedule[0]", ["game 'pogn'", "pong"]),
        (
            [[{"env": "pong", "ball_setings": {}}, 1]],
            {},
            "schedule[0].ball_setings",
            ["'ball_setings'", "ball_settings"],
        ),
        (
            [[{"env": "pong", "ball_settings": {"sped": 1}}, 1]],
            {},
            "schedule[0].ball_settings.sped",
            ["'sped'", "speed"],
        ),
        (
            [[{"pool": ["pong", {"env": "pong", "ball_settings": 3}]}, 1]],
            {},
            "schedule[0].pool[1].ball_settings",
            [3, "table"],
        ),
        ([["pong", 1]], {"headles": True}, "schedule[0]", ["'headles'", "headless"]),
    ],
)
def test_a_game_or_keyword_that_cannot_be_is_refused_with_its_place(
    schedule: Any, options: dict[str, Any], path: str, named: list[Any]
) -> None:
    with raises(ConfigError, *named, path=path):
        by_episodes(schedule, **options)

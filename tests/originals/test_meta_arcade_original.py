"""Meta Arcade, BuildingCurricula.md: its blocks, with our imports.

Two lines differ, as Gymnasium differs from Gym: `step` returns five values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

import env_adapters.curricula
from env_adapters.arcade import make_config
from env_adapters.curricula import NamedEnv
from tests.originals.original_pages import run

pygame = pytest.importorskip("pygame")


@pytest.fixture(autouse=True)
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SDL's driver that draws into memory, for headless=False; the page closes no window."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    yield
    pygame.display.quit()


IMPORTS: dict[str, Any] = {
    "gym": gymnasium,
    "meta_arcade": env_adapters.curricula,
    "curriculum_tools": env_adapters.curricula,
    "make_config": make_config,
    "NamedEnv": NamedEnv,
}


def page(code: str, **more: Any) -> dict[str, Any]:
    return run(code, {**IMPORTS, **more})


def test_a_basic_curriculum_of_episodes() -> None:
    found = page(
        """
        # create gym environments
        pong = gym.make("MetaArcade-v0", config="pong")
        breakout = gym.make("MetaArcade-v0", config="breakout")

        # build a curriculum
        schedule = [
            [pong, 20],
            [breakout, 20]
        ]

        # compile into a single gym environment, and note the total curriculum duration
        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True)
        """
    )
    assert found["total_duration"] == 40
    assert found["env"].reset(seed=0)[0].shape == (84, 84, 3)


def test_a_basic_curriculum_of_steps() -> None:
    found = page(
        """
        pong = gym.make("MetaArcade-v0", config="pong")
        breakout = gym.make("MetaArcade-v0", config="breakout")
        schedule = [
            [pong, 5000],
            [breakout, 5000]
        ]
        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=False)
        """
    )
    assert found["total_duration"] == 10_000


def test_a_curriculum_of_names_with_keywords() -> None:
    found = page(
        """
        schedule = [
            ["pong", 20],
            ["breakout", 20]
        ]
        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True, headless=True)
        """
    )
    assert found["total_duration"] == 40


def test_an_interpolation() -> None:
    found = page(
        """
        # define pong with gray background
        cfg_pong = make_config("pong")
        cfg_pong["display_settings"]["background_color"] = [128,128,128]

        # pong with blue background
        cfg_pong_blue = cfg_pong.copy()
        cfg_pong_blue["display_settings"]["background_color"] = [100,100,255]

        # curriculum
        schedule = [
            # interpolate for 10 episodes with the interpolate key
            [{"interpolate":[cfg_pong, cfg_pong_blue]}, 10],
        ]

        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True, headless=False)
        frames = meta_arcade.get_first_frames(env, episodes=total_duration, rows=1)
        """
    )
    assert found["frames"].shape == (84, 10 * 84, 3)
    colours = found["frames"][30, 20::84].tolist()
    assert colours[0] == [125, 125, 141]
    assert colours[-1] == [100, 100, 255]


def test_an_interpolation_of_a_distribution() -> None:
    found = page(
        """
        cfg_pong_1, cfg_pong_2 = make_config("pong"), make_config("pong")
        cfg_pong_1["display_settings"]["background_color"] = {"distribution":"normal", "mean":[128,128,128], "std":[0,0,0]}
        # ... #
        cfg_pong_2["display_settings"]["background_color"] = {"distribution":"normal", "mean":[128,128,128], "std":[60,60,60]}
        schedule = [
            [{"interpolate":[cfg_pong_1, cfg_pong_2]}, 10],
        ]
        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True, headless=False)
        frames = meta_arcade.get_first_frames(env, episodes=total_duration, rows=1)
        """  # noqa: E501 - the page's
    )
    apart = np.abs(found["frames"][30, 20::84].astype(float) - 128)
    assert apart[:3].mean() < apart[-3:].mean()


def test_a_pool() -> None:
    found = page(
        """
        # define pong, breakout, and duel
        cfg_pong = make_config("pong")
        cfg_breakout = make_config("breakout")
        cfg_duel = make_config("duel")

        # curriculum with task pooling
        schedule = [
            # interpolate for 10 episodes
            [{"pool":[cfg_pong, cfg_breakout, cfg_duel]}, 20],
        ]

        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True, headless=False)
        frames = meta_arcade.get_first_frames(env, episodes=total_duration, rows=2)
        """
    )
    assert found["frames"].shape == (2 * 84, 10 * 84, 3)


def test_a_repeated_curriculum() -> None:
    found = page(
        """
        # define pong and breakout
        cfg_pong = make_config("pong")
        cfg_breakout = make_config("breakout")

        # define a sub-curriculum to repeat
        repeat_block = [
            [cfg_pong, 2],
            [cfg_breakout, 2]
        ]

        # repeat 3 times, for 12 episodes total
        schedule = [
            [{"repeat":repeat_block}, 3],
        ]

        # get schedule wrapped up in a single gym environment, and the total curriculum duration
        # the total duration will be 12 to reflect the repeated portion
        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True, headless=False)

        # run the curriculum and display first frame of each episode afterwards
        frames = meta_arcade.get_first_frames(env, episodes=total_duration, rows=1)
        """
    )
    assert found["total_duration"] == 12
    assert found["frames"].shape == (84, 12 * 84, 3)


def test_the_task_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    page(
        """
        pong = gym.make("MetaArcade-v0", config="pong", headless=True)
        pong = NamedEnv(pong, [1,0])
        breakout = gym.make("MetaArcade-v0", config="breakout", headless=True)
        breakout = NamedEnv(breakout, [0,1])

        schedule = [
            [pong, 3],
            [breakout, 3],
        ]
        env, total_duration = meta_arcade.make_curriculum(schedule, episodic=True, headless=False)

        for e in range(total_duration):

            # curriculum advances on reset()
            env.reset()

            # what task are we running now?
            print("Running task", env.unwrapped.name)

            # run the episode
            done = False
            while not done:
                a = env.action_space.sample()
                s, r, terminated, truncated, info = env.step(a)  # the page: s, r, done, info
                done = terminated or truncated
        """
    )
    told = ["Running task [1, 0]"] * 3 + ["Running task [0, 1]"] * 3
    assert capsys.readouterr().out.splitlines() == told


def test_workers_share_the_durations(capsys: pytest.CaptureFixture[str]) -> None:
    page(
        """
        schedule = [
            ["pong", 500],
            ["breakout", 500]
        ]

        # curriculum for single thread
        env, total_duration = meta_arcade.make_curriculum(schedule,
            episodic=False, headless=True)

        print(total_duration) # prints 1000

        # curriculum for 4 workers in parallel
        env, total_duration = meta_arcade.make_curriculum(schedule,
            episodic=False, headless=True, across_workers=4)

        print(total_duration) # prints 250
        """
    )
    assert capsys.readouterr().out == "1000\n250\n"


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_other_environments(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ale_py")
    page(
        """
        ale_pong = gym.make("PongNoFrameskip-v4")
        ale_breakout = gym.make("BreakoutNoFrameskip-v4")

        schedule = [
            [ale_pong, 50000],
            [ale_breakout, 50000]
        ]

        # Note we are using curriculum_tools.make_curriculum
        env, total_duration = curriculum_tools.make_curriculum(schedule, episodic=False)

        # action space is superset of all sub-environments:
        print(ale_pong.action_space)		#prints Discrete(6)
        print(ale_breakout.action_space)	#prints Discrete(4)
        print(env.action_space)				#prints Discrete(6)
        """
    )
    assert capsys.readouterr().out == "Discrete(6)\nDiscrete(4)\nDiscrete(6)\n"

"""Others' packages say nothing that nobody asked."""

from __future__ import annotations

import pytest

from tests.programs import run_python

pytestmark = pytest.mark.slow

START = """
import os
from env_adapters.gymnasium import Gymnasium
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell

def world(name, **options):
    world = Gymnasium(name, **options).world()
    world.start(Cell(name, 0, 1, 0, Phase.TRAIN))
    return world

"""


def run(program: str, **variables: str) -> tuple[str, str]:
    """The output of a fresh interpreter without a display to stdout and to stderr."""
    unset = ("SDL_VIDEODRIVER", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY")
    done = run_python(START + program, unset=unset, PYTHONWARNINGS="error", **variables)
    return done.stdout, done.stderr


@pytest.mark.parametrize("name", ["FetchReach-v4", "ALE/Pong-v5"])
def test_making_an_environment_prints_nothing(name: str) -> None:
    assert run(f"world({name!r}).close()") == ("", "")


@pytest.mark.parametrize("name", ["CartPole-v1", "Taxi-v4"])
def test_a_picture_needs_no_display_and_leaves_nothing_behind(name: str) -> None:
    program = f"""
one = world({name!r}, render_mode="rgb_array")
print(one.render().ndim, "SDL_VIDEODRIVER" in os.environ)
one.close()
"""
    assert run(program) == ("3 False\n", "")


def test_a_driver_that_somebody_chose_is_kept() -> None:
    program = """
one = world("CartPole-v1", render_mode="rgb_array")
one.render()
import pygame
print(pygame.display.get_driver(), os.environ["SDL_VIDEODRIVER"])
one.close()
"""
    assert run(program, SDL_VIDEODRIVER="offscreen") == ("offscreen offscreen\n", "")

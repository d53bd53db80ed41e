"""The arcade on a screen: a window where there is a display, elsewhere one warning."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from env_adapters.arcade import GAMES, Arcade, NoWindow
from reglue.errors import BadArgument
from tests.error_facts import raises

pygame = pytest.importorskip("pygame")


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDL's driver that draws into memory."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def shown() -> Any:
    """The window's pixels, one for each of a frame, (84, 84, 3)."""
    pixels = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    side = len(pixels) // 84
    assert pixels.shape == (84 * side, 84 * side, 3)
    return pixels[side // 2 :: side, side // 2 :: side]


def test_every_frame_is_shown(display: None) -> None:
    env = Arcade("duel", headless=False)
    assert pygame.display.get_surface() is None  # until an episode begins
    frame, _ = env.reset(seed=1)
    for action in (3, 5, 0, 0):
        assert np.array_equal(shown(), frame)
        frame, *_ = env.step(action)
    assert np.array_equal(shown(), frame)
    env.close()
    assert pygame.display.get_surface() is None


def test_a_restored_state_is_shown(display: None) -> None:
    env = Arcade("duel", headless=False)
    frame, _ = env.reset(seed=1)
    kept = env.get_inside()
    env.step(3)
    env.set_inside(kept)
    assert np.array_equal(shown(), frame)
    env.close()


def test_games_share_a_window_and_each_can_be_closed(display: None) -> None:
    one, other = (Arcade(game, headless=False) for game in ("pong", "breakout"))
    first, _ = one.reset(seed=1)
    second, _ = other.reset(seed=1)
    assert np.array_equal(shown(), second)
    one.close()
    other.close()
    frame, _ = one.reset(seed=1)  # opens it again
    assert np.array_equal(frame, first)
    assert np.array_equal(shown(), first)
    one.close()


def test_a_window_changes_nothing(display: None) -> None:
    def played(headless: bool) -> list[Any]:
        env = Arcade("pong", headless=headless)
        found: list[Any] = [env.reset(seed=3)[0].tobytes()]
        for action in (1, 2, 1, 0):
            frame, *rest = env.step(action)
            found += [frame.tobytes(), rest]
        env.close()
        return found

    assert played(False) == played(True)


def first_frame(game: str, headless: bool) -> bytes:
    env = Arcade(game, headless=headless)
    frame, _ = env.reset(seed=1)
    env.close()
    return frame.tobytes()


@pytest.mark.parametrize(
    ("variables", "has_pygame", "why"),
    [
        ({}, True, "DISPLAY"),
        ({"DISPLAY": ":4711"}, True, "DISPLAY=:4711"),
        ({"SDL_VIDEODRIVER": "none"}, True, "SDL_VIDEODRIVER=none"),
        ({}, False, "reglue[video]"),
    ],
)
def test_where_no_window_can_be_there_is_one_warning(
    variables: dict[str, str], has_pygame: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if not has_pygame:
        monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.warns(NoWindow) as warned:
        frames = [first_frame(game, headless=False) for game in GAMES]
    assert frames == [first_frame(game, headless=True) for game in GAMES]
    assert [why in str(each.message) for each in warned] == [True]
    assert pygame.display.get_surface() is None


@pytest.mark.parametrize("headless", [0, None, "no"])
def test_headless_is_true_or_false(headless: Any) -> None:
    with raises(BadArgument, got=f"headless {headless!r}"):
        Arcade("pong", headless=headless)

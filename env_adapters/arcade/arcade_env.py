"""The arcade as a Gymnasium environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from env_adapters.arcade.config import episode_config, make_config
from env_adapters.arcade.play import Play, play_from_arrays, play_to_arrays
from env_adapters.arcade.scene import lay_out
from env_adapters.arcade.sprites import Screen
from env_adapters.arcade.window import Window
from env_adapters.environment_configs import JSON, sample
from reglue.errors import BadArgument, UsageError
from reglue.spec import Array, Arrays

Move: TypeAlias = tuple[float, float, float]

_MOVES: tuple[Move, ...] = ((0, 0, 0), (0, -1, 0), (0, 1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, 1))
"""Right, down and fire of each discrete action."""


class Arcade(gymnasium.Env[Array, Any]):
    """Plays a game: `config` is what `make_config` takes, such as the name of one.

    Observations are (84, 84, 3) uint8. Actions are noop, up, down, left, right and fire; or, if
    `continuous`, [x, y, fire], each clipped to -1 to 1: x to the right, y downwards, a shot if
    fire is above 0; a player that shoots stands still. An action that the game forbids is a noop.

    Rewards are points. An episode terminates with a score of 100 or -100, or with a single event
    of as many points, such as a lost ball; it is truncated after `max_episode_length` steps.
    `info` has the `score` so far and `is_success`: whether the score reached 100.

    Distributions in the config are drawn at each reset from `np_random`, the only source of
    randomness. `reset(options={"config": ...})` plays that config, without distributions, instead.

    With `headless=False` a window shows every frame, as fast as steps are taken. Where there is no
    display, or no pygame, there is one warning (`NoWindow`) and no window.

    Raises, at construction and at such a reset, as `make_config`; UsageError for an illegal
    action, and if no episode is running.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - as Gymnasium's
    takes_config = True

    def __init__(
        self,
        config: str | Path | dict[str, JSON] = "pong",
        continuous: bool = False,
        render_mode: str | None = None,
        headless: bool = True,
    ) -> None:
        if not isinstance(continuous, bool):
            raise BadArgument(got=f"continuous {continuous!r}", wanted="True or False")
        if not isinstance(headless, bool):
            raise BadArgument(got=f"headless {headless!r}", wanted="True or False")
        if render_mode not in (None, "rgb_array"):
            raise BadArgument(got=f"render_mode {render_mode!r}", wanted="None or 'rgb_array'")
        self._config = make_config(config)
        self.render_mode = render_mode
        self.observation_space = Box(0, 255, (84, 84, 3), np.uint8)
        self.action_space = Box(-1.0, 1.0, (3,)) if continuous else Discrete(6)
        self._move = _analog if continuous else _discrete
        self._play_and_screen: tuple[Play, Screen] | None = None
        self._window = None if headless else Window()

    @property
    def horizon(self) -> int:
        """Steps after which an episode is truncated; 0 if the config draws it."""
        steps = self._config["meta"]["max_episode_length"]
        return steps if isinstance(steps, int) else 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode: its first frame and info."""
        if not isinstance(options, dict | None):
            raise BadArgument(got=f"the options {options!r}", wanted="a dict")
        config = (options or {}).get("config")
        game = episode_config(config) if config is not None else None
        super().reset(seed=seed)
        if game is None:
            game = episode_config(sample(self._config, self.np_random))
        return self._show_play(Play(lay_out(game, self.np_random)))

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play two ticks; frame, points, terminated, truncated and info."""
        play, screen = self._require_play()
        if play.over:
            raise UsageError("the episode is over; call reset first")
        right, down, fire = self._move(action)
        points = play.step(right, down, shoot=fire > 0, rng=self.np_random)
        terminated = play.won or play.lost
        truncated = play.late and not terminated
        return self._draw(screen), points, terminated, truncated, _info(play)

    def render(self) -> Array | None:
        """The present frame; None without a render_mode."""
        return self._require_play()[1].draw() if self.render_mode else None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()

    def get_inside(self) -> Arrays:
        """Copies of all that the rest of the episode depends on, except `np_random`."""
        return play_to_arrays(self._require_play()[0])

    def set_inside(self, arrays: Arrays) -> None:
        """Continue from the arrays of `get_inside`, of this process or another.

        Raises UsageError, with nothing changed, for anything else.
        """
        self._show_play(play_from_arrays(arrays))

    def _show_play(self, play: Play) -> tuple[Array, dict[str, Any]]:
        screen = Screen(play)
        self._play_and_screen = play, screen
        return self._draw(screen), _info(play)

    def _draw(self, screen: Screen) -> Array:
        frame = screen.draw()
        if self._window is not None:
            self._window.show(frame)
        return frame

    def _require_play(self) -> tuple[Play, Screen]:
        if self._play_and_screen is None:
            raise UsageError("no episode is running; call reset first")
        return self._play_and_screen


def _info(play: Play) -> dict[str, Any]:
    return {"score": play.score, "is_success": play.won}


def _discrete(action: Any) -> Move:
    number = _array(action)
    if number.shape != () or number.dtype.kind not in "iu" or not 0 <= number < len(_MOVES):
        raise BadArgument(got=f"the action {action!r}", wanted="an integer from 0 to 5")
    return _MOVES[int(number)]


def _array(action: Any) -> Array:
    try:
        return np.asarray(action)
    except ValueError:  # lists of several lengths
        return np.asarray(None)


def _analog(action: Any) -> Move:
    numbers = _array(action)
    if numbers.shape != (3,) or numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
        raise BadArgument(got=f"the action {action!r}", wanted="three numbers of -1 to 1")
    right, down, fire = (min(max(float(number), -1.0), 1.0) for number in numbers)
    return right, down, fire

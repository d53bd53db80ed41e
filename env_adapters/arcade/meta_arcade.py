"""The original Meta Arcade, unchanged, with Gymnasium's interface."""

from __future__ import annotations

import copy
import importlib.util
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from env_adapters.environment_configs import JSON
from reglue.errors import BadArgument, CannotLoad, SpecError, UnknownName, UsageError
from reglue.spec import Array

_SEEDS = 2**32  # NumPy's global generator takes no more

_IDS = ("MetaArcade-v0", "MetaArcadeInterpolate-v0")

_Generators: TypeAlias = tuple[Any, Any]


class MetaArcade(gymnasium.Env[Array, Any]):
    """Plays the 24 games of the original, and configs for it.

    `config` is a game's name, the path of a JSON file with a slash in it, or a dict. Frames are
    (84, 84, 3) uint8; actions are those of `Arcade`, except for the continuous [y, x, fire].

    The original draws from Python's and NumPy's global generators. While it plays, they hold
    its own states, seeded from `np_random` at each reset; afterwards they are restored.

    Raises, at construction, CannotLoad where the package `meta_arcade` or what it needs is not
    installed, or for a file; UnknownName for a game; SpecError for a config that it cannot play.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium's
    takes_config = True

    def __init__(self, config: str | dict[str, JSON] = "pong", continuous: bool = False) -> None:
        original = _original()
        self._read = original.Config.MAConfig
        self._config = self._loaded(config)
        self._original = original.MetaArcade.MetaArcade(
            self._config, headless=True, continuous=continuous
        )
        self.observation_space = Box(0, 255, (84, 84, 3), np.uint8)
        self.action_space = Box(-1.0, 1.0, (3,)) if continuous else Discrete(6)
        self._generators = _generator_states()
        self._begin(self._config, 0)  # the original checks a config only by playing it
        self._is_running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode, of `options["config"]` if that is given.

        After a config that cannot be played, no episode is running.
        """
        config = (options or {}).get("config")
        config = self._config if config is None else self._loaded(config)
        super().reset(seed=seed)
        return self._begin(config, int(self.np_random.integers(_SEEDS))), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play two ticks. An episode that ends without 100 points won or lost is truncated."""
        if not self.action_space.contains(action):
            raise BadArgument(got=f"the action {action!r}", wanted=f"one of {self.action_space}")
        if not self._is_running:
            raise UsageError("no episode is running; call reset first")
        with self._own_generators():
            frame, points, done, info = self._original.step(action)
        self._is_running = not done
        decided = max(abs(points), abs(self._original.cum_score)) >= 100.0
        return frame, float(points), bool(done and decided), bool(done and not decided), info

    def _begin(self, config: Any, seed: int) -> Array:
        self._is_running = False
        self._original.config = config
        with self._own_generators():
            try:
                self._original.seed(seed)
                frame: Array = self._original.reset()
            except Exception as error:  # the edge of somebody's library
                raise SpecError(f"Meta Arcade cannot play this config: {error!r}") from error
        self._is_running = True
        return frame

    @contextmanager
    def _own_generators(self) -> Iterator[None]:
        """Give the original the global generators; restore their states afterwards."""
        others = _generator_states()
        _set_generators(self._generators)
        try:
            yield
        finally:
            self._generators = _generator_states()
            _set_generators(others)

    def _loaded(self, config: str | dict[str, JSON]) -> Any:
        try:
            return self._read(copy.deepcopy(config))  # it writes into its argument
        except OSError as error:
            if "/" in str(config):
                raise CannotLoad(f"cannot read {config} as a game's JSON file: {error}") from error
            raise UnknownName("game of Meta Arcade", str(config), _games(self._read)) from error
        except ValueError as error:
            raise SpecError(f"got the config {config!r}: {error}") from error


def _generator_states() -> _Generators:
    return random.getstate(), np.random.get_state()  # noqa: NPY002 - the original's


def _set_generators(generators: _Generators) -> None:
    random.setstate(generators[0])
    np.random.set_state(generators[1])  # noqa: NPY002 - the original's


def _games(read: Any) -> list[str]:
    folder = Path(str(sys.modules[read.__module__].__file__)).parent / "predefined_games"
    return [path.stem for path in folder.glob("*.json")]


def _original() -> Any:
    """The package. It imports `gym`; if that is not installed, it gets Gymnasium instead.

    There it registers ids that stay ours.
    """
    stand_ins = {}
    if importlib.util.find_spec("gym") is None:
        names = ("", ".spaces", ".envs", ".envs.registration")
        stand_ins = {f"gym{name}": sys.modules[f"gymnasium{name}"] for name in names}
    sys.modules.update(stand_ins)
    ours = {name: gymnasium.registry.pop(name) for name in _IDS}
    try:
        importlib.import_module("meta_arcade.MetaArcade")
        importlib.import_module("meta_arcade.GameDisplay")
        return importlib.import_module("meta_arcade")
    except ModuleNotFoundError as error:
        raise CannotLoad(
            f"MetaArcade needs the package {error.name}; wanted lifelong-learning-systems/"
            "meta-arcade installed with its curriculum_tools, and opencv-python-headless"
        ) from error
    finally:
        gymnasium.registry.update(ours)
        for name in stand_ins:
            del sys.modules[name]

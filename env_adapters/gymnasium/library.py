"""The gymnasium package, loaded when it is first needed, and what it makes by id."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reglue.errors import CannotLoad, MissingExtra, UnknownName, UsageError

# Modules and environments as Any: we set what is no part of Gymnasium's interface. Tests
# compare what we make of it with what plain Gymnasium plays.

_EXTRA = ("gymnasium", "mujoco", "imageio", "glfw", "packaging")
"""Packages that the extra brings, directly or not; gymnasium.envs.mujoco imports the last four."""

_BRINGERS = (
    (r"Reglue/Point2D", ("env_adapters.goals",), "gymnasium"),
    (r"Reglue/(Meta)?Arcade", ("env_adapters.arcade",), "gymnasium"),
    (
        r"Fetch|HandReach|HandManipulate|PointMaze|AntMaze|AdroitHand|FrankaKitchen",
        ("gymnasium_robotics",),
        "robotics",
    ),
    (r"ALE/|\w+NoFrameskip-v", ("ale_py",), "atari"),
    (r"dm_control/", ("shimmy", "dm_control"), "dm-control"),
)
"""Beginnings of ids, the packages that register them when they are imported, the extra."""

_DRAWS = {"osmesa": "apt-get install libosmesa6", "egl": "apt-get install libegl1"}
"""What MuJoCo draws with, by MUJOCO_GL: it is loaded with MuJoCo."""


def gymnasium() -> Any:
    """The package `gymnasium`. Raises MissingExtra."""
    return _load("gymnasium")


def mujoco() -> Any:
    """The package `mujoco`. Raises MissingExtra."""
    return _load("mujoco")


def make(name: str, options: Mapping[str, Any]) -> Any:
    """Gymnasium's environment with the id `name`, without its checker of environments.

    Raises UnknownName, MissingExtra, or CannotLoad where Gymnasium cannot make it so.
    """
    gym = gymnasium()
    with warnings.catch_warnings():
        # Old versions and loose bounds are warned of, which is fatal where warnings are errors.
        warnings.simplefilter("ignore")
        try:
            _bring(name)
            env = gym.make(name, disable_env_checker=True, **options)
        except (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv) as error:
            raise UnknownName("Gymnasium environment", name, gym.registry) from error
        except UsageError:
            raise
        except Exception as error:  # the edge of somebody's environment
            missing = _missing(error)
            if missing in _EXTRA:
                raise MissingExtra(name, "gymnasium", f"the package {missing}") from error
            what = f"{type(error).__name__}: {error}{_advice()}"
            raise CannotLoad(f"{name} could not be made with {dict(options)}: {what}") from error
    _remove_models_file(env.unwrapped)
    return env


def _remove_models_file(env: Any) -> None:
    """Mazes write their model for MuJoCo to read, and leave the file behind."""
    file = getattr(env, "tmp_xml_file_path", None)
    if file is not None:
        Path(file).unlink(missing_ok=True)


def _bring(name: str) -> None:
    """Have Gymnasium know an id that another package registers. Raises MissingExtra."""
    for beginning, packages, extra in _BRINGERS:
        if re.match(beginning, name):
            for package in packages:
                try:
                    importlib.import_module(package)
                except ModuleNotFoundError as error:
                    raise MissingExtra(name, extra, f"the package {error.name}") from error


def _advice() -> str:
    """What to do where MuJoCo could not be loaded for want of what it draws with."""
    library = _DRAWS.get(os.environ.get("MUJOCO_GL", ""))
    if library is None or "mujoco" in sys.modules:
        return ""
    return f"; MUJOCO_GL={os.environ['MUJOCO_GL']} needs a library (on Debian: {library})"


def _load(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtra("Gymnasium", "gymnasium", f"the package {error.name}") from error


def _missing(error: BaseException | None) -> str | None:
    """The package for whose lack it was raised; Gymnasium wraps some import errors."""
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__
    return error.name if error is not None else None

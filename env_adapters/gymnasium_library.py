"""The gymnasium package, loaded when it is first needed, and what it makes by id."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from env_adapters.mujoco import defer_glfw, how_to_draw
from reglue.errors import BadArgument, CannotLoad, MissingExtra, UnknownName, UsageError

# Modules and environments are Any: we set attributes that are no part of Gymnasium's interface.
# Tests compare our environments with plain Gymnasium's.

_EXTRA = ("gymnasium", "mujoco", "imageio", "glfw", "packaging")
"""Packages of the extra `gymnasium`; gymnasium.envs.mujoco imports the last four."""

_ROBOTICS = r"Fetch|HandReach|HandManipulate|PointMaze|AntMaze|AdroitHand|FrankaKitchen"

_PROVIDERS = (
    (r"Reglue/Point2D", ("env_adapters.goals",), "gymnasium"),
    (r"(Reglue/)?(Meta)?Arcade", ("env_adapters.arcade",), "gymnasium"),
    (_ROBOTICS, ("gymnasium_robotics",), "robotics"),
    (r"ALE/|\w+NoFrameskip-v", ("ale_py",), "atari"),
    (r"dm_control/", ("dm_control", "shimmy"), "dm-control"),  # shimmy skips what is missing
)
"""Patterns of ids, the packages that register these when they are imported, and the extra."""


def gymnasium() -> Any:
    """The package `gymnasium`. Raises MissingExtra."""
    return _load("gymnasium")


def mujoco() -> Any:
    """The package `mujoco`. Raises MissingExtra."""
    return _load("mujoco")


def make(
    name: str, options: Mapping[str, Any], *, fix_goal: Callable[[Any, Any], Any] | None = None
) -> Any:
    """Gymnasium's environment with the id `name`, without its checker of environments.

    Args:
        name: The id.
        options: The environment's keywords.
        fix_goal: Wraps an environment so that each episode has one goal, if given. Environments
            of gymnasium-robotics, which have no such keyword, then take `fixed_goal` too.

    Raises UnknownName, MissingExtra, CannotLoad if Gymnasium cannot make it with these options, and
    UsageError for a view of a benchmark.
    """
    gym = gymnasium()
    if name.startswith("reglue/"):
        benchmark = name.removeprefix("reglue/")
        raise BadArgument(f"{name} is a view of the benchmark {benchmark}: name that itself")
    with warnings.catch_warnings():
        # Gymnasium warns of old versions and loose bounds, which is fatal if warnings are errors.
        warnings.simplefilter("ignore")
        try:
            _import_provider(name)
            env = _make(name, dict(options), fix_goal)
        except (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv) as error:
            example = f"gymnasium:my_module:{name}"
            hint = "" if ":" in name else f"if your module registers it, name that too: {example}"
            raise UnknownName("Gymnasium environment", name, _ids(), hint=hint) from error
        except UsageError:
            raise
        except Exception as error:  # the edge of somebody's environment
            missing = _missing_package(error)
            if missing in _EXTRA:
                raise MissingExtra(name, "gymnasium", f"the package {missing}") from error
            what = f"{type(error).__name__}: {error}{_advice(error)}"
            raise CannotLoad(f"{name} could not be made with {dict(options)}: {what}") from error
    _remove_models_file(env.unwrapped)
    return env


def ids_like(name: str) -> list[str]:
    """Ids that Gymnasium knows, the nearest first. Raises MissingExtra."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _import_provider(name)
    return get_close_matches(name, _ids(), cutoff=0.8)  # versions alone are alike, too


def _ids() -> list[str]:
    """The newest version of each: many older ones need a MuJoCo that cannot be installed."""
    by_age = sorted(gymnasium().registry.values(), key=lambda spec: spec.version or 0)
    newest = {(spec.namespace, spec.name): spec.id for spec in by_age}
    return [name for (namespace, _), name in newest.items() if namespace != "reglue"]


def _make(name: str, options: dict[str, Any], fix_goal: Callable[[Any, Any], Any] | None) -> Any:
    takes_goal = fix_goal is not None and re.match(_ROBOTICS, name)
    fixed_goal = options.pop("fixed_goal", None) if takes_goal else None
    defer_glfw()
    env = gymnasium().make(name, disable_env_checker=True, **options)
    return env if fix_goal is None or fixed_goal is None else fix_goal(env, fixed_goal)


def _remove_models_file(env: Any) -> None:
    """Delete the file with the model that a maze has written for MuJoCo to read."""
    file = getattr(env, "tmp_xml_file_path", None)
    if file is not None:
        Path(file).unlink(missing_ok=True)


def _import_provider(name: str) -> None:
    """Import the package that registers the id, if it is another package. Raises MissingExtra."""
    for pattern, packages, extra in _PROVIDERS:
        if re.match(pattern, name):
            for package in packages:
                try:
                    _import_quietly(package)
                except ModuleNotFoundError as error:
                    raise MissingExtra(name, extra, f"the package {error.name}") from error


def _import_quietly(package: str) -> None:
    """Import a package without the lines that some print in each process."""
    import_module("farama_notifications").notifications.pop(package, None)
    module: Any = import_module(package)
    if package == "ale_py":
        module.ALEInterface.setLoggerMode(module.LoggerMode.Error)


def _advice(error: Exception) -> str:
    """Advice on what to install if MuJoCo cannot draw or be loaded; empty for other errors."""
    is_unloaded = "MUJOCO_GL" in os.environ and "mujoco" not in sys.modules
    return f"; {how_to_draw()}" if is_unloaded or "OpenGL" in str(error) else ""


def _load(package: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise MissingExtra("Gymnasium", "gymnasium", f"the package {error.name}") from error


def _missing_package(error: BaseException | None) -> str | None:
    """The missing package that caused the error, which Gymnasium may have wrapped; else None."""
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__
    return error.name if error is not None else None

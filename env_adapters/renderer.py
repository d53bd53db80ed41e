"""MuJoCo's renderer, or what it lacks on this machine."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

from reglue.errors import UsageError


def make_renderer(model: Any, height: int, width: int) -> Any:
    """A mujoco.Renderer. Raises UsageError where MuJoCo cannot draw: what is missing."""
    mj: Any = import_module("mujoco")  # loaded: it made the model

    class Renderer(mj.Renderer):  # type: ignore[misc]
        """One that can be thrown away half made, too."""

        _gl_context = None
        _mjr_context = None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW warns of what is raised here
            if mj.gl_context.GLContext.__module__ == "mujoco.glfw":
                _check_display()
            return Renderer(model, height, width)
    except ValueError as error:  # larger than the model's own limit
        raise UsageError(f"got pictures of {height} × {width}: {error}") from error
    except Exception as error:  # the edge of somebody's library
        raise UsageError(f"MuJoCo cannot draw: {error}; {how_to_draw()}") from error


def how_to_draw() -> str:
    """What MuJoCo wants in order to draw where there is no display."""
    chosen = os.environ.get("MUJOCO_GL") or "not set"
    return (
        f"MUJOCO_GL is {chosen}, wanted MUJOCO_GL=egl or MUJOCO_GL=osmesa before Python starts, "
        "and its library (on Debian: apt-get install libegl1, or libosmesa6)"
    )


def _check_display() -> None:
    """Raise RuntimeError where GLFW has none: MuJoCo finds out late, and then aborts."""
    import glfw

    if not glfw.init():
        raise RuntimeError("there is no display")

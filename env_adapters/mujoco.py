"""MuJoCo: the state on which its next step depends, and renderers with helpful errors."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.errors import BadArgument, UsageError

Floats = npt.NDArray[np.float64]

_OFF_SCREEN = {"egl": "EGL", "osmesa": "OSMesa"}
"""Ways to draw without a display, and the library that each needs, the faster one first."""


class IntegrationState:
    """MuJoCo's integration state, (n,) float64, of an environment with a `model` and `data`.

    It is all that the next step depends on, besides the model; n depends on the model.
    """

    def __init__(self, env: Any) -> None:
        self._mj: Any = import_module("mujoco")  # loaded: the environment holds its objects
        self._kind = self._mj.mjtState.mjSTATE_INTEGRATION
        self._model, self._data = env.model, env.data

    @property
    def size(self) -> int:
        """n, the number of elements."""
        return int(self._mj.mj_stateSize(self._model, self._kind))

    def read(self) -> Floats:
        """A copy of the state."""
        state = np.empty(self.size)
        self.read_into(state)
        return state

    def read_into(self, state: Floats) -> None:
        """Copy the state to `state`, (n,)."""
        self._mj.mj_getState(self._model, self._data, state, self._kind)

    def write(self, state: Floats) -> None:
        """Set the state; quantities that are computed from it change with the next step only."""
        self._mj.mj_setState(self._model, self._data, state, self._kind)

    def restore(self, state: Floats) -> None:
        """Set the state, and compute positions and all other quantities from it."""
        self.write(state)
        self._mj.mj_forward(self._model, self._data)
        # mj_forward computes the positions, but also replaces the solver's warm start, which
        # is part of the state: so set that again.
        self.write(state)


def defer_glfw() -> None:
    """Let GLFW load when it is first used, and not whenever MuJoCo or its environments do.

    It starts a process to find its library, and takes a fifth of the time in which Meta-World's
    modules load. Only what draws uses it.
    """
    if "glfw" in sys.modules or (spec := find_spec("glfw")) is None:
        return
    module = module_from_spec(spec)
    module.__class__ = _LoadedByUse
    sys.modules["glfw"] = module


class _LoadedByUse(ModuleType):
    """A module that is loaded at its first use; dunders, which `import` reads, do not load it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]  # as any module from now on
        spec = self.__spec__
        assert spec is not None, "it was made from one"
        assert spec.loader is not None, "a package that is found has one"
        spec.loader.exec_module(self)
        return getattr(self, name)


def make_renderer(model: Any, height: int, width: int) -> Any:
    """A mujoco.Renderer. Raises UsageError, with advice, if MuJoCo cannot draw here."""
    mj: Any = import_module("mujoco")  # already imported: it built this model

    class Renderer(mj.Renderer):  # type: ignore[misc]
        """Can be deleted although its construction failed."""

        _gl_context = None
        _mjr_context = None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW warns of what is raised here
            if mj.gl_context.GLContext.__module__ == "mujoco.glfw":
                _check_display()
            return Renderer(model, height, width)
    except ValueError as error:  # larger than the model's own limit
        raise BadArgument(f"got pictures of {height} × {width}: {error}") from error
    except Exception as error:  # the edge of somebody's library
        raise UsageError(f"MuJoCo cannot draw: {error}; {how_to_draw()}") from error


@contextmanager
def drawing_without_display() -> Iterator[None]:
    """Let a MuJoCo that is imported here draw by EGL or OSMesa if there is no display.

    It takes the one that is installed. The process's MUJOCO_GL is afterwards as it was. Where it is
    set, or MuJoCo is imported already, nothing changes.
    """
    has_display = any(os.environ.get(each) for each in ("DISPLAY", "WAYLAND_DISPLAY"))
    library = next((name for name, file in _OFF_SCREEN.items() if find_library(file)), None)
    if has_display or library is None or "MUJOCO_GL" in os.environ or "mujoco" in sys.modules:
        yield
        return
    before = {name: os.environ.get(name) for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    os.environ["MUJOCO_GL"] = library
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def how_to_draw() -> str:
    """Advice on what to set and install so that MuJoCo draws without a display."""
    chosen = os.environ.get("MUJOCO_GL") or "not set"
    return (
        f"MUJOCO_GL is {chosen}, wanted MUJOCO_GL=egl or MUJOCO_GL=osmesa before Python starts, "
        "and its library (on Debian: apt-get install libegl1, or libosmesa6)"
    )


def _check_display() -> None:
    """Raise RuntimeError if GLFW has no display: MuJoCo itself would abort the process."""
    import glfw

    if not glfw.init():
        raise RuntimeError("there is no display")

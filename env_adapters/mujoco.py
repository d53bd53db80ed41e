"""MuJoCo: the state on which its next step depends, and drawing with helpful errors."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.errors import BadArgument, UsageError

Floats = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]
Depth = npt.NDArray[np.float32]

_OFF_SCREEN = {"egl": "EGL", "osmesa": "OSMesa"}
"""Ways to draw without a display, and the library that each needs, the faster one first."""

MOST_PIXELS = 1024
"""The most rows and columns of a picture."""

_MOST_GEOMS = 1000  # drawn at once; as Gymnasium's renderer


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


class OffscreenContext:
    """An OpenGL context without a window. The renderers of several models share it.

    It is used by one thread at a time. A process that has one must not fork.
    """

    def __init__(self) -> None:
        """Raises UsageError, with advice, if MuJoCo cannot draw on this machine."""
        with _drawing():
            self._context = _context_class()(1, 1)  # renderers have buffers of their own
            self._context.make_current()
        # An exit frees what was not closed, before MuJoCo's handler ends what contexts need.
        self._at_exit = partial(_close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    def make_current(self) -> None:
        """Let the calling thread draw in it."""
        self._context.make_current()

    def close(self) -> None:
        """Free the context, after its renderers."""
        atexit.unregister(self._at_exit)
        self._context.free()


class ModelRenderer:
    """Renders pictures of one model."""

    def __init__(self, context: OffscreenContext, model: Any, *, height: int, width: int) -> None:
        """Raises UsageError for a size beyond MOST_PIXELS, and if MuJoCo cannot draw here."""
        if not 1 <= min(height, width) <= max(height, width) <= MOST_PIXELS:
            raise BadArgument(
                got=f"pictures of {height} × {width}", wanted=f"1 to {MOST_PIXELS} pixels each way"
            )
        mj = self._mj = import_module("mujoco")  # loaded: it built this model
        self._context, self._size = context, (height, width)
        self._rectangle = mj.MjrRect(0, 0, width, height)
        self._scene = mj.MjvScene(model, _MOST_GEOMS)
        self._options = mj.MjvOption()
        self._site_groups = self._options.sitegroup.copy()
        near, far = model.vis.map.znear, model.vis.map.zfar
        self._nearest, self._farthest = near * model.stat.extent, far * model.stat.extent
        self._model = model
        with _drawing():
            context.make_current()
            self._resources = mj.MjrContext(model, mj.mjtFontScale.mjFONTSCALE_150)
            mj.mjr_resizeOffscreen(width, height, self._resources)
        mj.mjr_setBuffer(mj.mjtFramebuffer.mjFB_OFFSCREEN, self._resources)
        self._resources.readDepthMap = mj.mjtDepthMap.mjDEPTH_ZEROFAR

    def render(self, data: Any, camera: Any, *, sites: bool = True) -> Picture:
        """The picture of `data` that an MjvCamera takes, (height, width, 3).

        `sites` are MuJoCo's markers.
        """
        mj = self._mj
        self._options.sitegroup[:] = self._site_groups if sites else 0
        mj.mjv_updateScene(
            self._model, data, self._options, None, camera, mj.mjtCatBit.mjCAT_ALL, self._scene
        )
        picture = np.empty((*self._size, 3), np.uint8)
        self._read(picture, None)
        return picture[::-1]  # OpenGL's first row is the lowest

    def depth(self) -> Depth:
        """The distances of what the last picture shows, (height, width).

        In the model's metres along the camera's axis, at most the distance of its far plane.
        """
        mj, flags = self._mj, self._scene.flags
        before = flags.copy()
        # Else each distance is one of several that a pixel of the picture is the mean of.
        flags[mj.mjtRndFlag.mjRND_SEGMENT] = flags[mj.mjtRndFlag.mjRND_IDCOLOR] = 1
        nearness = np.empty(self._size, np.float32)
        self._read(None, nearness)
        flags[:] = before
        # From 1 on the near plane to 0 on the far one, linear in the distance's reciprocal.
        apart = 1 / self._nearest - 1 / self._farthest
        metres = 1 / (nearness.astype(np.float64) * apart + 1 / self._farthest)
        depth: Depth = metres[::-1].astype(np.float32)
        return depth

    def _read(self, picture: Picture | None, nearness: Depth | None) -> None:
        self._context.make_current()
        self._mj.mjr_render(self._rectangle, self._scene, self._resources)
        self._mj.mjr_readPixels(picture, nearness, self._rectangle, self._resources)

    def close(self) -> None:
        """Free the renderer's memory."""
        self._context.make_current()
        self._resources.free()


@contextmanager
def drawing_without_display() -> Iterator[None]:
    """Let a MuJoCo that is imported here draw by EGL or OSMesa if there is no display.

    It takes the one that is installed. The process's MUJOCO_GL is afterwards as it was. Where it is
    set, or MuJoCo is imported already, nothing changes.
    """
    library = _library_without_display()
    if library is None or "mujoco" in sys.modules:
        yield
        return
    with _restored("MUJOCO_GL", "PYOPENGL_PLATFORM"):
        os.environ["MUJOCO_GL"] = library
        yield


def how_to_draw() -> str:
    """Advice on what to set and install so that MuJoCo draws without a display."""
    chosen = os.environ.get("MUJOCO_GL") or "not set"
    return (
        f"MUJOCO_GL is {chosen}, wanted MUJOCO_GL=egl or MUJOCO_GL=osmesa before Python starts, "
        "and its library (on Debian: apt-get install libegl1, or libosmesa6)"
    )


def _close_at_exit(context: weakref.ref[OffscreenContext]) -> None:
    if (living := context()) is not None:
        living.close()


@contextmanager
def _drawing() -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW warns of what is raised here
            yield
    except Exception as error:  # the edge of somebody's library
        raise UsageError(f"MuJoCo cannot draw: {error}; {how_to_draw()}") from error


def _context_class() -> Any:
    """A class of contexts. MuJoCo chooses one when it is imported, which may have been long ago."""
    library = os.environ.get("MUJOCO_GL", "") or _library_without_display()
    if library in _OFF_SCREEN:
        with _restored("PYOPENGL_PLATFORM"):  # MuJoCo's module sets it
            return import_module(f"mujoco.{library}").GLContext
    chosen = import_module("mujoco").gl_context.GLContext
    if chosen.__module__ == "mujoco.glfw":
        _check_display()
    return chosen


def _library_without_display() -> str | None:
    """MUJOCO_GL for drawing without a display: None if there is one, or it is set, or none is
    installed.
    """
    if any(os.environ.get(each) for each in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")):
        return None
    return next((name for name, file in _OFF_SCREEN.items() if find_library(file)), None)


@contextmanager
def _restored(*names: str) -> Iterator[None]:
    """Give environment variables their former values afterwards."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _check_display() -> None:
    """Raise RuntimeError if GLFW has no display: MuJoCo itself would abort the process."""
    import glfw

    if not glfw.init():
        raise RuntimeError("there is no display")

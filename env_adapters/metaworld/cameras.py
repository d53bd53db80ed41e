"""Pictures by the cameras of Meta-World's models, taken from copies of the simulators' states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from env_adapters.metaworld.library import mujoco
from env_adapters.metaworld.simulator import Simulator
from env_adapters.mujoco import MOST_PIXELS, IntegrationState, ModelRenderer, OffscreenContext
from reglue.error_message import brief
from reglue.errors import BadArgument, UnknownName
from reglue.spec import Array, Box, TensorSpec

CAMERAS = ("topview", "corner", "corner2", "corner3", "corner4", "behindGripper", "gripperPOV")
"""The cameras of all 50 tasks. Written out, as loading a model takes most of a second; a test
compares.
"""

UPSIDE_DOWN = frozenset(("corner", "corner2", "corner3", "corner4"))
"""Cameras that hang upside down in the models: their pictures are turned by 180 degrees."""

DEFAULT_SIZE = "84x84"

_SIZE = re.compile(r"(\d{1,9})\s*[x×]\s*(\d{1,9})")
_WANTED = f"WIDTHxHEIGHT such as {DEFAULT_SIZE}, each 1 to {MOST_PIXELS} pixels"


@dataclass(frozen=True, slots=True)
class CameraView:
    """A camera, and what is taken with it."""

    camera: str  # one of CAMERAS
    width: int = 480  # pixels
    height: int = 480
    depth: bool = False  # also the distance of each pixel

    def specs(self) -> tuple[TensorSpec, ...]:
        """`image`, (height, width, 3), and `depth`, (height, width), in metres."""
        image = TensorSpec("image", "uint8", (self.height, self.width, 3), Box((0,), (255,)))
        if not self.depth:
            return (image,)
        return image, TensorSpec("depth", "float32", (self.height, self.width), Box((0,), ()))


def camera_view(
    camera: str | None, size: str | Sequence[int] | None, *, depth: bool
) -> CameraView | None:
    """The view of a suite's settings; None without a camera.

    Raises UnknownName, with similar names, for an unknown camera, and BadArgument for an illegal
    size, or a size or depth without a camera.
    """
    if camera is None:
        if size is not None or depth:
            given = f"camera_size {size!r}" if size is not None else "camera_depth"
            raise BadArgument(got=f"{given} without a camera", wanted=f"camera, {_one_of()}")
        return None
    if camera not in CAMERAS:
        raise UnknownName("camera", str(camera), CAMERAS)
    width, height = _pixels(DEFAULT_SIZE if size is None else size)
    return CameraView(camera, width, height, depth)


def size_text(size: str | Sequence[int]) -> str:
    """A size as plans have it, such as `84x84`. Raises BadArgument."""
    return "{}x{}".format(*_pixels(size))


def _pixels(size: str | Sequence[int]) -> tuple[int, int]:
    """Width and height."""
    numbers: list[object] = []
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        numbers = [int(each) for each in found.groups()] if found else []
    elif isinstance(size, Sequence):  # it may be a stranger's
        numbers = list(size)
    match numbers:
        case [int(width), int(height)] if all(
            type(each) is int and 1 <= each <= MOST_PIXELS for each in (width, height)
        ):
            return width, height
        case _:
            raise BadArgument(got=f"camera_size {brief(size)}", wanted=_WANTED)


def _one_of() -> str:
    return f"one of {', '.join(CAMERAS)}"


_MOST_RENDERERS = 16  # each takes about 110 MB, most of it for shadows


class Cameras:
    """Takes the pictures of a suite's worlds. For one thread.

    All renderers share one OpenGL context. A seventeenth one takes the place of that which was used
    longest ago. A picture is a function of the episode's state, and the simulators do not change.
    """

    def __init__(self) -> None:
        """Raises UsageError, with advice, if MuJoCo cannot draw on this machine."""
        mujoco()
        self._context = OffscreenContext()
        self._models: dict[tuple[int, int, int], _ModelCameras] = {}  # used longest ago first

    def take(
        self, simulator: Simulator, view: CameraView, *, goal_marked: bool
    ) -> dict[str, Array]:
        """The tensors of `view.specs()`.

        `goal_marked` draws the model's markers, one of which is at the goal.
        """
        cameras = self._of_model(simulator, view)
        IntegrationState(cameras).restore(simulator.get_state().physics)
        camera = cameras.by_name[view.camera]
        taken: dict[str, Array] = {
            "image": cameras.renderer.render(cameras.data, camera, sites=goal_marked)
        }
        if view.depth:
            taken["depth"] = cameras.renderer.depth()
        turn = slice(None, None, -1 if view.camera in UPSIDE_DOWN else 1)
        return {name: array[turn, turn].copy() for name, array in taken.items()}

    def close(self) -> None:
        """Free the graphics memory; no picture is taken afterwards."""
        while self._models:
            self._models.popitem()[1].renderer.close()
        self._context.close()

    def _of_model(self, simulator: Simulator, view: CameraView) -> _ModelCameras:
        model = simulator.model
        key = id(model), view.width, view.height
        cameras = self._models.pop(key, None)
        if cameras is None:
            if len(self._models) == _MOST_RENDERERS:
                self._models.pop(next(iter(self._models))).renderer.close()
            cameras = _ModelCameras(self._context, model, view)
        self._models[key] = cameras
        return cameras


class _ModelCameras:
    """The cameras of one model, and data of its own that are drawn."""

    def __init__(self, context: OffscreenContext, model: Any, view: CameraView) -> None:
        mj = mujoco()
        self.model, self.data = model, mj.MjData(model)
        self.renderer = ModelRenderer(context, model, height=view.height, width=view.width)
        self.by_name = {name: _camera(mj, model, name) for name in CAMERAS}


def _camera(mj: Any, model: Any, name: str) -> Any:
    camera = mj.MjvCamera()
    camera.type, camera.fixedcamid = mj.mjtCamera.mjCAMERA_FIXED, model.camera(name).id
    return camera

"""Pictures of an episode: from observations or `render`, scaled to fit."""

from __future__ import annotations

import sys
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from env_adapters import Suite, SuiteName, World
from env_adapters.mujoco import drawing_without_display, how_to_draw
from reglue.environments.world import Rendered
from reglue.errors import ReglueError, UsageError
from reglue.spec import Arrays, TaskSpec, TensorSpec

Picture: TypeAlias = npt.NDArray[np.uint8]
"""(height, width, 3)."""


class Camera:
    """Takes pictures of one world: an observation that is a picture, or else what it renders."""

    def __init__(self, spec: TaskSpec, world: World) -> None:
        self._names = picture_tensors(spec)
        self._world = world

    def take(self, observation: Arrays) -> Picture | None:
        """The picture of this moment, or None. Raises UsageError if something is not installed.

        If a tensor is blank, the world draws instead: in a mix of environments,
        that of those that have no picture is blank.
        """
        for name in self._names:
            if observation[name].any():
                return observation[name]
        picture = render_world(self._world)
        if picture is None and self._names:
            return observation[self._names[0]]
        return picture


def render_world(world: World) -> Picture | None:
    """The picture by the world's `render`, or None. Raises UsageError if it cannot be drawn."""
    if not isinstance(world, Rendered):
        return None
    try:
        picture = world.render()
    except ReglueError:
        raise
    except Exception as error:  # the edge of somebody's library for drawing
        # Gymnasium itself says what to install.
        is_gl = "mujoco" in sys.modules and type(error).__module__ != "gymnasium.error"
        advice = f"; {how_to_draw()}" if is_gl else ""
        what = f"{type(error).__name__}: {error}{advice}"
        raise UsageError(f"the environment cannot draw here: {what}") from error
    if picture is None or picture.dtype != np.uint8 or picture.shape[2:] != (3,):
        return None
    return picture


def with_pictures(suite: SuiteName) -> Suite:
    """The suite, made so that its worlds' `render` draws if its environment can.

    Raises UsageError if it cannot be made at all.
    """
    rendering = suite.rendering()
    try:
        with drawing_without_display():
            return rendering.build()
    except UsageError:
        if rendering == suite:
            raise
        return suite.build()  # it does not take the keyword, or something else is wrong


def picture_tensors(spec: TaskSpec) -> list[str]:
    """Names of the observations that are pictures."""
    return [tensor.name for tensor in spec.observations if _is_picture(tensor)]


def shrunk(picture: Picture, height: int, width: int) -> Picture:
    """Shrunk to at most `height` × `width`, proportions kept; each pixel is a mean."""
    high, wide, _ = picture.shape
    scale = max(high / height, wide / width, 1.0)
    if scale == 1.0:
        return picture
    rows = _edges(high, max(1, int(high / scale)))
    columns = _edges(wide, max(1, int(wide / scale)))
    sums = np.add.reduceat(picture.astype(np.uint32), rows, axis=0)
    sums = np.add.reduceat(sums, columns, axis=1)
    counts = np.outer(np.diff(rows, append=high), np.diff(columns, append=wide))
    means: Picture = (sums // counts[:, :, None]).astype(np.uint8)
    return means


def enlarged(picture: Picture, height: int, width: int) -> Picture:
    """Enlarged by the largest integer that fits in `height` × `width`, at least 1."""
    times = max(1, min(height // picture.shape[0], width // picture.shape[1]))
    return picture.repeat(times, axis=0).repeat(times, axis=1)


def with_even_sizes(picture: Picture) -> Picture:
    """The picture; its last row or column is doubled if their number is odd."""
    high, wide, _ = picture.shape
    if not (high % 2 or wide % 2):
        return picture
    return np.pad(picture, ((0, high % 2), (0, wide % 2), (0, 0)), mode="edge")


def _is_picture(tensor: TensorSpec) -> bool:
    return tensor.dtype == "uint8" and len(tensor.shape) == 3 and tensor.shape[2] == 3


def _edges(size: int, parts: int) -> npt.NDArray[np.intp]:
    """The starts of equally long parts."""
    return np.arange(parts) * size // parts

"""Draws a simulator from a copy of its state, which does not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.library import mujoco
from env_adapters.mujoco import IntegrationState, make_renderer
from reglue.spec import Array

_SIZE = 480  # pixels: as many as Meta-World's models make room for
_CAMERA = "corner2"  # sees the table, the arm and the goal; it hangs upside down


class CameraRenderer:
    """Pictures of one model's states."""

    def __init__(self, model: Any) -> None:
        """Raises UsageError where MuJoCo cannot draw on this machine."""
        self.model, self.data = model, mujoco().MjData(model)
        self._renderer = make_renderer(model, _SIZE, _SIZE)

    def take(self, physics: npt.NDArray[np.float64]) -> Array:
        """(480, 480, 3) uint8 of an integration state, (n,)."""
        IntegrationState(self).restore(physics)
        self._renderer.update_scene(self.data, _CAMERA)
        picture: Array = self._renderer.render()
        return picture[::-1, ::-1].copy()

    def close(self) -> None:
        """Free what the library for drawing holds."""
        self._renderer.close()

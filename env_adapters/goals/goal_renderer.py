"""Renders MuJoCo environments from copies of their states, which do not change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from env_adapters.gymnasium_library import mujoco
from env_adapters.mujoco import Floats, IntegrationState, ModelRenderer, OffscreenContext
from reglue.spec import Array

Arrange = Callable[[Any], None]
"""Changes the copy, an MjData, before it is drawn."""


class GoalRenderer:
    """Renders square pictures of one model, without the markers of goals."""

    def __init__(self, model: Any, size: int, camera: Mapping[str, Any]) -> None:
        """`camera` holds attributes of MuJoCo's free camera that differ from the default.

        Raises UsageError, which names what is missing, if MuJoCo cannot draw on this machine.
        """
        mj = mujoco()
        self.model = copy.copy(model)
        _hide_markers(self.model)
        self.data = mj.MjData(self.model)
        self._context = OffscreenContext()
        self._renderer = ModelRenderer(self._context, self.model, height=size, width=size)
        self._camera = mj.MjvCamera()
        mj.mjv_defaultFreeCamera(self.model, self._camera)
        for name, value in camera.items():
            setattr(self._camera, name, value)

    def render(self, state: Floats, arrange: Arrange) -> Array:
        """The picture of an integration state, after `arrange` has changed its copy.

        (size, size, 3) uint8.
        """
        mj = mujoco()
        IntegrationState(self).restore(state)
        arrange(self.data)
        mj.mj_forward(self.model, self.data)
        return self._renderer.render(self.data, self._camera)

    def close(self) -> None:
        """Free the renderer's memory."""
        self._renderer.close()
        self._context.close()


def _hide_markers(model: Any) -> None:
    """Make target sites and bodies, Hand's fingertip sites and Fetch's mocap body transparent."""
    for site in range(model.nsite):
        if model.site(site).name.startswith(("target", "finger")):
            model.site_rgba[site, 3] = 0
    for geom in range(model.ngeom):
        if model.body(model.geom_bodyid[geom]).name.startswith(("target", "robot0:mocap")):
            model.geom_rgba[geom, 3] = 0

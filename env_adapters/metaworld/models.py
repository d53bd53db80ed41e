"""Compiled models: MuJoCo reads one from disk in a twentieth of the time of compiling it."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.cache import DiskCache
from env_adapters.metaworld.fingerprint import fingerprint
from env_adapters.metaworld.library import is_proved, metaworld, mujoco

_FORMAT = "compiled model 1"


class Models:
    """Makes metaworld's environments, their models (21 MB each) from a cache."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._loaded: dict[str, _Loaded] = {}  # by file

    def environment(self, task: str) -> Any:
        """Metaworld's own environment of `task`."""
        task_class = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task]
        if not is_proved():
            return task_class(reward_function_version="v2")

        def initialize(env: Any) -> tuple[Any, Any]:
            model = self._load(Path(env.fullpath))
            # As Gymnasium: a renderer needs room for its pictures.
            room = model.vis.global_
            room.offwidth = max(room.offwidth, env.width)
            room.offheight = max(room.offheight, env.height)
            return model, mujoco().MjData(model)

        # Under the same name, since upstream keeps it in an attribute.
        members = {"_initialize_simulation": initialize}
        env = type(task_class.__name__, (task_class,), members)(reward_function_version="v2")
        env.__class__ = task_class
        return env

    def _load(self, xml: Path) -> Any:
        """A model of one's own: what was read is in use, further ones are copied from it."""
        if xml.name not in self._loaded:
            model = self._read(xml)
            self._loaded[xml.name] = _Loaded(model, model.body_pos.copy(), model.site_pos.copy())
            return model
        return self._loaded[xml.name].again()

    def _read(self, xml: Path) -> Any:
        mj = mujoco()
        key = {"what": _FORMAT, "xml": xml.name, "depends on": fingerprint()}
        kept = self._cache.get_file(key)
        if kept is not None:
            with suppress(ValueError):  # deleted meanwhile
                return mj.MjModel.from_binary_path(str(kept))
        model = mj.MjModel.from_xml_path(str(xml))
        self._cache.put_file(key, lambda path: mj.mj_saveModel(model, str(path), None))
        return model


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model that some simulator plays with, and what resets write into it, as it was."""

    model: Any
    body_pos: npt.NDArray[np.float64]  # (bodies, 3)
    site_pos: npt.NDArray[np.float64]  # (sites, 3)

    def again(self) -> Any:
        """Another one, as if it were read anew."""
        model = copy(self.model)
        model.body_pos[:] = self.body_pos
        model.site_pos[:] = self.site_pos
        return model

"""Compiled models: read from disk in a twentieth of the time of compiling, one for all who play.

A model takes 21 MB, of which episodes change two small arrays: where bodies and sites
are. So all environments of one model share it, and each finds in it what it left there.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.cache import DiskCache
from env_adapters.metaworld.fingerprint import fingerprint
from env_adapters.metaworld.library import metaworld, mujoco
from env_adapters.metaworld.proof import is_verified

_FORMAT = "compiled model 1"

Floats = npt.NDArray[np.float64]


class Models:
    """Makes metaworld's environments, their models from a cache."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._shared: dict[str, SharedModel] = {}  # by file

    def environment(self, task: str) -> tuple[Any, SharedModel]:
        """Metaworld's own environment of `task`, and its model, which it may share."""
        task_class = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task]
        if not is_verified():
            env = task_class(reward_function_version="v2")
            return env, SharedModel(env.model)

        env = task_class.__new__(task_class)
        env._initialize_simulation = lambda: self._initialize(env)  # in place of the class's
        env.__init__(reward_function_version="v2")
        # It holds the environment and all models: a cycle, which nobody frees soon.
        del env._initialize_simulation
        return env, self._model(Path(env.fullpath))

    def _initialize(self, env: Any) -> tuple[Any, Any]:
        shared = self._model(Path(env.fullpath))
        shared.put(shared.as_read())
        # As Gymnasium: a renderer needs room for its pictures.
        room = shared.model.vis.global_
        room.offwidth = max(room.offwidth, env.width)
        room.offheight = max(room.offheight, env.height)
        return shared.model, mujoco().MjData(shared.model)

    def _model(self, xml: Path) -> SharedModel:
        if xml.name not in self._shared:
            self._shared[xml.name] = SharedModel(self._read(xml))
        return self._shared[xml.name]

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
class Places:
    """What episodes change in a model: kept here for one of them while others play."""

    body_pos: Floats  # (bodies, 3), metres
    site_pos: Floats  # (sites, 3)


class SharedModel:
    """A model, and whose places are in it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._body_pos, self._site_pos = model.body_pos, model.site_pos  # views
        self._first = Places(self._body_pos.copy(), self._site_pos.copy())
        self._present: Places | None = None

    def as_read(self) -> Places:
        """The places of somebody new."""
        return Places(self._first.body_pos.copy(), self._first.site_pos.copy())

    def put(self, places: Places) -> None:
        """Make the model theirs, and keep what is in it for those who had it."""
        left = self._present
        if left is places:
            return
        if left is not None:
            left.body_pos[:], left.site_pos[:] = self._body_pos, self._site_pos
        self._body_pos[:], self._site_pos[:] = places.body_pos, places.site_pos
        self._present = places

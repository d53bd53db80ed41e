"""Compiled models: read from disk in a twentieth of the time of compiling, one for all who play.

A model takes 21 MB, of which episodes change two small arrays: where bodies and sites
are. So all simulators of one model share it, and each finds in it what it left there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from env_adapters.cache import DiskCache
from env_adapters.metaworld.fingerprint import fingerprint
from env_adapters.metaworld.library import is_proved, metaworld, mujoco
from reglue.malloc import keep_blocks

_FORMAT = "compiled model 1"

_Places: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""`body_pos`, (bodies, 3), and `site_pos`, (sites, 3), metres."""


class Models:
    """Makes metaworld's environments, their models from a cache."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._shared: dict[str, _SharedModel] = {}  # by file

    def environment(self, task: str) -> tuple[Any, Share]:
        """Metaworld's own environment of `task`, and its share in the model."""
        task_class = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task]
        if not is_proved():
            env = task_class(reward_function_version="v2")
            return env, Share(_SharedModel(env.model))
        shares: list[Share] = []

        def initialize(env: Any) -> tuple[Any, Any]:
            shares.append(Share(self._model(Path(env.fullpath))))
            model = shares[0].take()
            # As Gymnasium: a renderer needs room for its pictures.
            room = model.vis.global_
            room.offwidth = max(room.offwidth, env.width)
            room.offheight = max(room.offheight, env.height)
            return model, mujoco().MjData(model)

        # Under the same name, since upstream keeps it in an attribute.
        members = {"_initialize_simulation": initialize}
        env = type(task_class.__name__, (task_class,), members)(reward_function_version="v2")
        env.__class__ = task_class
        return env, shares[0]

    def _model(self, xml: Path) -> _SharedModel:
        if xml.name not in self._shared:
            self._shared[xml.name] = _SharedModel(self._read(xml))
        return self._shared[xml.name]

    def _read(self, xml: Path) -> Any:
        mj = mujoco()
        key = {"what": _FORMAT, "xml": xml.name, "depends on": fingerprint()}
        kept = self._cache.get_file(key)
        keep_blocks()  # the file's, for the next one: fresh memory takes longer than its reading
        if kept is not None:
            with suppress(ValueError):  # deleted meanwhile
                return mj.MjModel.from_binary_path(str(kept))
        model = mj.MjModel.from_xml_path(str(xml))
        self._cache.put_file(key, lambda path: mj.mj_saveModel(model, str(path), None))
        return model


class Share:
    """One environment's share in a model."""

    def __init__(self, shared: _SharedModel) -> None:
        self._shared = shared
        self._places = shared.as_read

    def take(self) -> Any:
        """The model, as this environment left it or as it was read, until another takes it."""
        shared = self._shared
        if shared.player is not self:
            if shared.player is not None:
                shared.player._places = shared.places()
            shared.put(self._places)
            shared.player = self
        return shared.model


class _SharedModel:
    """A model, and whose turn it is."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.player: Share | None = None
        self._body_pos, self._site_pos = model.body_pos, model.site_pos  # views
        self.as_read = self.places()

    def places(self) -> _Places:
        """What episodes change in it."""
        return self._body_pos.copy(), self._site_pos.copy()

    def put(self, places: _Places) -> None:
        """Change it to that."""
        self._body_pos[:], self._site_pos[:] = places

"""Shared models, and one environment a task in which simulators take turns.

A compiled model is read from disk in a twentieth of the time of compiling. It takes 21 MB, of
which episodes change two small arrays: the positions of bodies and sites. So all environments
of a model share it, and each one's positions are put back before it plays.

MuJoCo's data are 15 MB, of which an episode depends on some hundred numbers, the integration
state: all else is computed from them, and mj_forward computes it anew before a step reads it.
If every simulator had its own data, the processor's cache would hold none of them, and a step
would take a third longer."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.disk_cache import DiskCache
from env_adapters.metaworld.fast_step import stand_in
from env_adapters.metaworld.library import fingerprint, is_verified, metaworld, mujoco
from env_adapters.metaworld.resets import Resets, SettledStates, owns_memory
from env_adapters.mujoco import IntegrationState

_FORMAT = "compiled model 1"

Floats = npt.NDArray[np.float64]


class Models:
    """Makes metaworld's environments, with models from a cache."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._shared: dict[str, SharedModel] = {}  # by file

    def environment(self, task: str) -> tuple[Any, SharedModel]:
        """Metaworld's environment of `task`, and its model, which other environments may share."""
        task_class = metaworld("env_dict").ALL_V3_ENVIRONMENTS[task]
        if not is_verified():
            env = task_class(reward_function_version="v2")
            return env, SharedModel(env.model)

        env = task_class.__new__(task_class)
        env._initialize_simulation = lambda: self._initialize(env)  # in place of the class's
        env.__init__(reward_function_version="v2")
        # The lambda holds the environment and all models: a cycle that would not be freed soon.
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
        path = self._cache.get_file(key)
        if path is not None:
            with suppress(ValueError):  # deleted meanwhile
                return mj.MjModel.from_binary_path(str(path))
        model = mj.MjModel.from_xml_path(str(xml))
        self._cache.put_file(key, lambda path: mj.mj_saveModel(model, str(path), None))
        return model


@dataclass(frozen=True, slots=True)
class Places:
    """The part of a model that episodes change: saved for one episode while others play."""

    body_pos: Floats  # (bodies, 3), metres
    site_pos: Floats  # (sites, 3)


class SharedModel:
    """A model, and the episode whose positions are in it."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._body_pos, self._site_pos = model.body_pos, model.site_pos  # views
        self._first = Places(self._body_pos.copy(), self._site_pos.copy())
        self._present: Places | None = None

    def as_read(self) -> Places:
        """The positions of a new episode."""
        return Places(self._first.body_pos.copy(), self._first.site_pos.copy())

    def put(self, places: Places) -> None:
        """Save the present positions, and set `places`."""
        previous = self._present
        if previous is places:
            return
        if previous is not None:
            previous.body_pos[:], previous.site_pos[:] = self._body_pos, self._site_pos
        self._body_pos[:], self._site_pos[:] = places.body_pos, places.site_pos
        self._present = places


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Share:
    """The state of one simulator's episode, saved while others play."""

    env: SharedEnv
    places: Places
    physics: Floats  # MuJoCo's integration state, (n,)
    attributes: dict[str, Any]  # metaworld's environment's

    def take(self) -> None:
        """Make the environment this simulator's, until another takes it."""
        self.env.put(self)


class SharedEnvs:
    """The environments of tasks, each made for its first simulator."""

    def __init__(self, models: Models, settled_states: SettledStates) -> None:
        self._models = models
        self._settled_states = settled_states
        self._envs: dict[str, SharedEnv] = {}

    def share(self, task: str) -> Share:
        """A share for a new simulator of `task`, in which no episode has begun."""
        if not is_verified():  # whether steps leave anything else behind
            return self._make(task).new_share()
        if task not in self._envs:
            self._envs[task] = self._make(task)
        return self._envs[task].new_share()

    def _make(self, task: str) -> SharedEnv:
        return SharedEnv(*self._models.environment(task), self._settled_states)


class SharedEnv:
    """Metaworld's environment of a task, its stand-in if there is one, and the share that plays."""

    def __init__(self, env: Any, model: SharedModel, settled_states: SettledStates) -> None:
        self.env = env
        self.stand_in_env = stand_in(env)
        self.physics = IntegrationState(env)
        self.resets = Resets(env, self.physics, settled_states)
        self._model = model
        self._first = self.physics.read()
        self._attributes = _copied(vars(env))
        # Weakly: a share holds this object, and the state of a deleted share is not needed.
        self._present: Callable[[], Share | None] = lambda: None

    def new_share(self) -> Share:
        """A share with the state that the environment had when it was made."""
        return Share(self, self._model.as_read(), self._first.copy(), _copied(self._attributes))

    def put(self, share: Share) -> None:
        """Save the present share's state, and set `share`'s."""
        self._model.put(share.places)
        previous = self._present()
        if previous is share:
            return
        if previous is not None:
            self.physics.read_into(previous.physics)
        self.physics.write(share.physics)
        self.env.__dict__ = share.attributes
        if self.stand_in_env is not None:
            self.stand_in_env.__dict__ = share.attributes
        self._present = weakref.ref(share)


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    """A copy of the attributes and their arrays; views into MuJoCo's data stay views."""
    return {
        name: value.copy() if owns_memory(value) else value for name, value in attributes.items()
    }

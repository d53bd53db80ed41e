"""Where the hand comes to rest in a reset: computed once, kept in memory and on disk."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.cache import DiskCache
from env_adapters.integration_state import IntegrationState
from env_adapters.metaworld.fingerprint import fingerprint
from env_adapters.metaworld.library import mujoco

Floats = npt.NDArray[np.float64]

_FORMAT = "hand at rest 2"
_NUMBERS = np.dtype("<f8")
_MOST_KEPT = 4096  # in memory, at about 2 kB each

_Key = tuple[str, int, bytes, bytes]  # task, substeps, where the hand starts, places of bodies


class SettledStates:
    """MuJoCo's states one substep before the end of settling; shared by simulators.

    One substep before, since MuJoCo leaves behind the positions of the start of a
    substep, and resets read them: the last one is always computed.
    """

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._kept: dict[_Key, Floats] = {}  # oldest first

    def settle(self, env: Any, steps: int) -> None:
        """What `_reset_hand` does with the physics, right after `mj_resetData`."""
        mj, model, data = mujoco(), env.model, env.data
        physics = IntegrationState(env)
        place = model.body_mocapid[model.body("mocap").id]
        data.mocap_pos[place] = env.hand_init_pos
        data.mocap_quat[place] = (1, 0, 1, 0)
        data.ctrl[:] = (-1, 1)
        substeps = steps * env.frame_skip
        start = np.asarray(env.hand_init_pos, np.float64).tobytes()
        key = type(env).__name__, substeps, start, model.body_pos.tobytes()
        state = self._kept.get(key)
        if state is None:
            state = self._load(key, physics.size)
        if state is None:
            mj.mj_step(model, data, nstep=substeps - 1)
            state = physics.read()
            self._cache.put(_disk_key(key), state.astype(_NUMBERS).tobytes())
        self._keep(key, state)
        physics.write(state)
        mj.mj_step(model, data)

    def _load(self, key: _Key, size: int) -> Floats | None:
        value = self._cache.get(_disk_key(key))
        if value is None or len(value) != size * _NUMBERS.itemsize:
            return None
        state = np.frombuffer(value, _NUMBERS).astype(np.float64)
        return state if np.isfinite(state).all() else None

    def _keep(self, key: _Key, state: Floats) -> None:
        self._kept[key] = state
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]


def _disk_key(key: _Key) -> dict[str, Any]:
    task, substeps, start, places = key
    return {
        "what": _FORMAT,
        "task": task,
        "substeps": substeps,
        "hand starts at": start.hex(),
        "places of bodies": hashlib.sha256(places).hexdigest(),
        "depends on": fingerprint(),
    }

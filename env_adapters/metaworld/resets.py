"""Begins episodes as Meta-World's reset does, to the bit, but without settling the hand.

A reset runs `reset_model` twice, and each time lets the hand settle for 250 substeps of
physics. The first run affects the second only by what it writes into the model and into the
environment's attributes, since MuJoCo's data are reset in between; and the second run overwrites
whatever depends on the position at which the hand came to rest. So the first run needs no physics.
In the second the hand always starts from the same data, so its position at rest is a function of
the model alone. A reset changes only the positions of bodies and sites in the model, and no task
has a sensor, tendon or actuator on a site. So SettledStates stores settled states by the positions
of the bodies, and goals that leave these equal share one.

A goal that was started before is not reset again: everything that its reset has changed is
restored. Tests compare all 50 tasks with Meta-World's own reset, which `Resets` calls with other
versions or sources than those of the tests (`library.is_verified`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.disk_cache import DiskCache
from env_adapters.metaworld.library import fingerprint, is_verified, mujoco
from env_adapters.mujoco import IntegrationState

Floats = npt.NDArray[np.float64]

_FORMAT = "hand at rest 2"
_NUMBERS = np.dtype("<f8")
_MOST_SETTLED = 4096  # in memory, at about 2 kB each

_Key = tuple[str, int, bytes, bytes]  # task, substeps, where the hand starts, places of bodies


class SettledStates:
    """MuJoCo's states one substep before the end of settling; shared by simulators.

    The last substep is always computed: it leaves the positions at its start in MuJoCo's data, and
    resets read these.
    """

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._states: dict[_Key, Floats] = {}  # oldest first

    def settle(self, env: Any, steps: int) -> None:
        """Do what `_reset_hand` does with the physics after `mj_resetData`, in `steps` steps."""
        mj, model, data = mujoco(), env.model, env.data
        physics = IntegrationState(env)
        place = model.body_mocapid[model.body("mocap").id]
        data.mocap_pos[place] = env.hand_init_pos
        data.mocap_quat[place] = (1, 0, 1, 0)
        data.ctrl[:] = (-1, 1)
        substeps = steps * env.frame_skip
        start = np.asarray(env.hand_init_pos, np.float64).tobytes()
        key = type(env).__name__, substeps, start, model.body_pos.tobytes()
        state = self._states.get(key)
        if state is None:
            state = self._load(key, physics.size)
        if state is None:
            mj.mj_step(model, data, nstep=substeps - 1)
            state = physics.read()
            self._cache.put(_disk_key(key), state.astype(_NUMBERS).tobytes())
        self._remember(key, state)
        physics.write(state)
        mj.mj_step(model, data)

    def _load(self, key: _Key, size: int) -> Floats | None:
        value = self._cache.get(_disk_key(key))
        if value is None or len(value) != size * _NUMBERS.itemsize:
            return None
        state = np.frombuffer(value, _NUMBERS).astype(np.float64)
        return state if np.isfinite(state).all() else None

    def _remember(self, key: _Key, state: Floats) -> None:
        self._states[key] = state
        if len(self._states) > _MOST_SETTLED:
            del self._states[next(iter(self._states))]


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


_MOST_STARTS = 512  # that a simulator remembers, at about 8 kB each


@dataclass(frozen=True, slots=True)
class _Start:
    """Everything on which an episode depends when it begins."""

    observation: Floats  # (39,)
    physics: Floats  # MuJoCo's integration state
    body_pos: Floats  # (bodies, 3) and the sites': what resets write into the model
    site_pos: Floats
    attributes: dict[str, Any]  # of the environment; views into MuJoCo's data stay views
    arrays: tuple[str, ...]  # names of the attributes that are copied when they are restored


class Resets:
    """Begins the episodes of one metaworld environment; the module's docstring says how."""

    def __init__(self, env: Any, physics: IntegrationState, settled_states: SettledStates) -> None:
        self._env = env
        self._physics = physics
        self._settled_states = settled_states
        self._verified = is_verified()
        self._starts: dict[tuple[bytes, bool], _Start] = {}  # oldest first

    def start(self, goal: Sequence[float], *, goal_visible: bool) -> Floats:
        """The first observation, (39,), as after `set_task` and `reset`."""
        vector = np.array(goal, np.float64)
        key = vector.tobytes(), goal_visible
        if key in self._starts:
            return self._restore(self._starts[key])
        self._set_task(vector, goal_visible=goal_visible)
        if not self._verified:
            observation: Floats = self._env.reset()[0]
            return observation
        observation = self._reset()
        self._starts[key] = self._remember(observation)
        if len(self._starts) > _MOST_STARTS:
            del self._starts[next(iter(self._starts))]
        return observation

    def _set_task(self, goal: Floats, *, goal_visible: bool) -> None:
        """Do what `SawyerXYZEnv.set_task` does, without a pickle."""
        env = self._env
        env._set_task_called = True
        env._freeze_rand_vec = True
        env._last_rand_vec = goal
        _show_goal(env, visible=goal_visible)

    def _reset(self) -> Floats:
        """Do what `SawyerXYZEnv.reset` does."""
        env = self._env
        env.curr_path_length = 0
        with _settling_by(env, lambda _: None):
            env.reset_model()
        mujoco().mj_resetData(env.model, env.data)
        with _settling_by(env, partial(self._settled_states.settle, env)):
            observation = env.reset_model()
        env._prev_obs = observation[:18].copy()
        observation[18:36] = env._prev_obs
        return np.array(observation, np.float64)

    def _remember(self, observation: Floats) -> _Start:
        model = self._env.model
        attributes: dict[str, Any] = {
            name: value for name, value in vars(self._env).items() if isinstance(value, _PLAIN)
        }
        owners = [name for name, value in attributes.items() if owns_memory(value)]
        attributes |= {name: attributes[name].copy() for name in owners}
        return _Start(
            observation.copy(),
            self._physics.read(),
            model.body_pos.copy(),
            model.site_pos.copy(),
            attributes,
            tuple(owners),
        )

    def _restore(self, start: _Start) -> Floats:
        env, model = self._env, self._env.model
        model.body_pos[:] = start.body_pos
        model.site_pos[:] = start.site_pos
        self._physics.restore(start.physics)
        _show_goal(env, visible=not start.attributes["_partially_observable"])
        attributes = vars(env)
        attributes.update(start.attributes)
        for name in start.arrays:
            attributes[name] = start.attributes[name].copy()
        return start.observation.copy()


_PLAIN = (bool, int, float, list, np.generic, np.ndarray, type(None))
"""Types of the attributes that resets and steps set; a test looks for others."""


def _show_goal(env: Any, *, visible: bool) -> None:
    if env._partially_observable == visible:
        env._partially_observable = not visible
        vars(env).pop("sawyer_observation_space", None)  # a cached property of the former


@contextmanager
def _settling_by(env: Any, settle: Callable[[int], None]) -> Iterator[None]:
    """Replace the physics of `_reset_hand` by `settle`; its other effects stay."""

    def reset_hand(steps: int = 50) -> None:
        settle(steps)
        type(env)._reset_hand(env, steps=0)

    env._reset_hand = reset_hand
    try:
        yield
    finally:
        del env._reset_hand


def owns_memory(value: Any) -> bool:
    """Whether it is an array that MuJoCo does not change with each step."""
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return isinstance(value, np.ndarray)

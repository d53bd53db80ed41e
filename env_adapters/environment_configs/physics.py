"""MuJoCo's physics as numbers of a config.

`gravity` (m/s²) and `wind` (m/s) are three numbers; gravity may be one, along z. `friction`,
`mass` (with inertia) and `damping` are factors for all geoms, bodies and joints, at least 0.001; a
smaller normal draw is clipped. `mj_setConst` updates what MuJoCo derives from masses, such as
those of subtrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from env_adapters.environment_configs.values import JSON, ConfigError, inside, is_finite
from env_adapters.gymnasium_library import mujoco
from reglue.errors import BadArgument, UnknownName

_VECTORS = ("gravity", "wind")
_LEAST = 0.001
_FACTORS: Mapping[str, tuple[str, ...]] = {
    "friction": ("geom_friction",),
    "mass": ("body_mass", "body_inertia"),
    "damping": ("dof_damping",),
}


def check_physics(physics: JSON, path: str) -> None:
    """Raise ConfigError unless `physics`, at `path` in the config, is legal for one episode."""
    if not isinstance(physics, dict):
        raise ConfigError(path, got=repr(physics), wanted="a table")
    for name, value in physics.items():
        where = inside(path, name)
        if name not in (*_VECTORS, *_FACTORS):
            unknown = UnknownName("physics", name, (*_VECTORS, *_FACTORS))
            raise ConfigError(where, str(unknown))
        if name in _FACTORS and not (is_finite(value) and value >= _LEAST):
            raise ConfigError(where, got=repr(value), wanted=f"a factor from {_LEAST}")
        if (
            name in _VECTORS
            and not _is_vector(value)
            and not (name == "gravity" and is_finite(value))
        ):
            raise ConfigError(where, got=repr(value), wanted="three numbers")


class Physics:
    """Changes the MuJoCo model of one environment; remembers its original numbers."""

    def __init__(self, env: Any, name: str) -> None:
        """Raises BadArgument, with the environment's `name`, if it has no MuJoCo model."""
        model: Any = getattr(env.unwrapped, "model", None)
        if not hasattr(model, "opt"):
            raise BadArgument(name, got="physics", wanted="a MuJoCo environment")
        self._model: Any = model
        self._originals = {
            field: np.array(getattr(self._model, field))
            for fields in _FACTORS.values()
            for field in fields
        }
        self._options = {each: np.array(getattr(self._model.opt, each)) for each in _VECTORS}
        self._mass = 1.0

    def set(self, physics: Mapping[str, Any]) -> None:
        """Set these numbers; all other numbers become the original ones."""
        for name in _VECTORS:
            value = physics.get(name, self._options[name])
            vector = np.asarray([0.0, 0.0, value] if np.ndim(value) == 0 else value)
            getattr(self._model.opt, name)[:] = vector
        for name, fields in _FACTORS.items():
            for field in fields:
                getattr(self._model, field)[:] = self._originals[field] * _factor(physics, name)
        if (mass := _factor(physics, "mass")) != self._mass:
            mujoco().mj_setConst(self._model, mujoco().MjData(self._model))
            self._mass = mass


def _factor(physics: Mapping[str, Any], name: str) -> float:
    return max(float(physics.get(name, 1.0)), _LEAST)


def _is_vector(value: JSON) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(is_finite, value))

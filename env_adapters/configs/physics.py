"""MuJoCo's physics as numbers of a config.

`gravity` and `wind` are m/s², m/s: three numbers, or for gravity one, along z. `friction`,
`mass` (with inertia) and `damping` are factors, of all geoms, bodies and joints. What MuJoCo
derives of masses, such as those of subtrees, follows (`mj_setConst`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from env_adapters.configs.distributions import is_distribution
from env_adapters.configs.values import JSON, inside, is_finite
from env_adapters.gymnasium.library import mujoco
from reglue.errors import UnknownName, UsageError

_VECTORS = ("gravity", "wind")
_FACTORS: Mapping[str, tuple[str, ...]] = {
    "friction": ("geom_friction",),
    "mass": ("body_mass", "body_inertia"),
    "damping": ("dof_damping",),
}


def check_physics(physics: JSON, path: str) -> None:
    """Raise UsageError for what is no physics, and say where it stands."""
    if not isinstance(physics, dict):
        raise UsageError(f"{path}: got {physics!r}, wanted a table")
    for name, value in physics.items():
        if name not in (*_VECTORS, *_FACTORS):
            raise UnknownName(f"physics at {path} called", name, (*_VECTORS, *_FACTORS))
        where = inside(path, name)
        if name in _FACTORS and is_finite(value) and value <= 0:
            raise UsageError(f"{where}: got {value}, wanted a factor above 0")
        several = isinstance(value, list) and len(value) == 3 and name in _VECTORS
        numbers = value if several else [value]
        if name == "wind" and not (several or is_distribution(value)):
            raise UsageError(f"{where}: got {value}, wanted three numbers")
        if not all(is_finite(each) or is_distribution(each) for each in numbers):
            wanted = "three numbers" if name in _VECTORS else "a number"
            raise UsageError(f"{where}: got {value}, wanted {wanted}")


class Physics:
    """The model of one environment, whose own numbers are remembered."""

    def __init__(self, env: Any, name: str) -> None:
        """Raises UsageError for an environment that has no model of MuJoCo's."""
        model: Any = getattr(env.unwrapped, "model", None)
        if not hasattr(model, "opt"):
            raise UsageError(f"{name}: got physics, wanted an environment of MuJoCo's")
        self._model: Any = model
        self._own = {
            field: np.array(getattr(self._model, field))
            for fields in _FACTORS.values()
            for field in fields
        }
        self._options = {each: np.array(getattr(self._model.opt, each)) for each in _VECTORS}
        self._mass = 1.0

    def set(self, physics: Mapping[str, Any]) -> None:
        """Set what it says; all else is as the environment's author wanted it."""
        for name in _VECTORS:
            value = physics.get(name, self._options[name])
            vector = np.asarray([0.0, 0.0, value] if np.ndim(value) == 0 else value)
            getattr(self._model.opt, name)[:] = vector
        for name, fields in _FACTORS.items():
            factor = physics.get(name, 1.0)
            if not factor > 0:
                raise UsageError(f"{name}: got {factor}, wanted a factor above 0")
            for field in fields:
                getattr(self._model, field)[:] = self._own[field] * factor
        if (mass := physics.get("mass", 1.0)) != self._mass:
            mujoco().mj_setConst(self._model, mujoco().MjData(self._model))
            self._mass = mass

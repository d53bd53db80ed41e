"""MuJoCo's integration state: all that its next step depends on, besides the model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class IntegrationState:
    """That of an environment with a `model` and `data`: (n,), n depends on the model."""

    def __init__(self, env: Any) -> None:
        self._mj: Any = import_module("mujoco")  # loaded: the environment holds its objects
        self._kind = self._mj.mjtState.mjSTATE_INTEGRATION
        self._model, self._data = env.model, env.data

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(self._mj.mj_stateSize(self._model, self._kind))

    def read(self) -> Floats:
        """A copy."""
        state = np.empty(self.size)
        self.read_into(state)
        return state

    def read_into(self, state: Floats) -> None:
        """Copy it to `state`, (n,)."""
        self._mj.mj_getState(self._model, self._data, state, self._kind)

    def write(self, state: Floats) -> None:
        """Set it; what is computed from it, as positions, stays as it was until a step."""
        self._mj.mj_setState(self._model, self._data, state, self._kind)

    def restore(self, state: Floats) -> None:
        """Set it, and compute what follows from it."""
        self.write(state)
        self._mj.mj_forward(self._model, self._data)
        # mj_forward computes the positions that are read, but also replaces the solver's
        # warm start, which is part of the state: hence once more.
        self.write(state)

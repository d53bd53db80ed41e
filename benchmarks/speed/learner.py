"""A meta-learner that costs next to nothing, with the methods that Meta-World asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Learner:
    """Waves about as its observations have it, and learns nothing."""

    def init(self) -> None:
        """A new trial."""

    def adapt_action(
        self, observations: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float32], dict[str, npt.NDArray[Any]]]:
        """Actions `(rows, 4)`, and nothing beside."""
        return self.eval_action(observations), {}

    def step(self, timestep: Any) -> None:
        """Nothing is learned."""

    def adapt(self) -> None:
        """Nothing is learned."""

    def eval_action(self, observations: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        """Actions `(rows, 4)`."""
        return np.sin(40.0 * observations[:, :4]).astype(np.float32)

    def reset(self, env_mask: npt.NDArray[np.bool_]) -> None:
        """Nothing is remembered."""

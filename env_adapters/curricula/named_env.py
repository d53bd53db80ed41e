"""A name for an environment, to tell the tasks of a curriculum apart."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium


class NamedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """`env.unwrapped.name` is `name`, any object, such as a string or a one-hot vector.

    If several wrap one environment, the name is the outermost's.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], name: Any) -> None:
        super().__init__(env)
        self._name = deepcopy(name)

    @property
    def name(self) -> Any:
        """A copy of the name."""
        return deepcopy(self._name)

    @property
    def unwrapped(self) -> Any:
        """This wrapper, which has the name."""
        return self

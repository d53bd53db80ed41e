"""An agent to connect from a thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from reglue import Agent

PATIENCE_S = 20.0
Start = Callable[..., "Future[str]"]


class Still(Agent):
    """Does nothing, and says so."""

    def agent_start(self, observations: Any, starts: Any) -> Any:
        return np.zeros(len(starts))

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return np.zeros(len(steps))

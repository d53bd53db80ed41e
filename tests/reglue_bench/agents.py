"""Agents that runs start as processes: one that plays, and several that fail."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from tests.reglue_bench.toys import Seeded

__all__ = ["Seeded"]


class Exits(Seeded):
    """Leaves at its second turn, with a last word."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        print("out of coffee", flush=True)
        os._exit(3)


class Hangs(Seeded):
    """Does not answer its second turn."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        threading.Event().wait()


class Raises(Seeded):
    """Raises at its second turn."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        raise KeyError("coffee")


class WrongSize(Seeded):
    """Answers a number too many at each step."""

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return np.zeros((len(steps), 2))


class Mendable(Seeded):
    """Exits, or answers a number too many, for as long as the file `fault` is there."""

    def __init__(self, fault: str, how: str) -> None:
        self._fault, self._how = Path(fault), how

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        if not self._fault.exists():
            return super().agent_step(rewards, observations, steps)
        if self._how == "exit":
            os._exit(3)
        return np.zeros((len(steps), 2))


class NeverMade(Seeded):
    """Cannot be constructed."""

    def __init__(self) -> None:
        sys.exit("no weights")

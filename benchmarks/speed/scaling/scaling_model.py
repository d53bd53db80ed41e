"""A command's duration by its number of nodes, fitted to measured ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Model:
    """Seconds of a command: a start, and then each node plays its runs one after another."""

    start_s: float  # of the command and its connection
    node_s: float  # that each node adds to the start, where all start on the same two cores
    run_s: float  # of a run, with the start of its agent

    def seconds(self, runs: int, nodes: int) -> float:
        """Seconds of the whole command; every node has a core."""
        return self.start_s + self.node_s * nodes + self.run_s * math.ceil(runs / nodes)


def fitted(runs: int, seconds: Mapping[int, float]) -> Model:
    """Fit by least squares of the relative error; nodes -> seconds, of three or more sizes."""
    terms = np.array([(1.0, nodes, math.ceil(runs / nodes)) for nodes in seconds])
    measured = np.array([*seconds.values()])
    solution = np.linalg.lstsq(terms / measured[:, None], np.ones(len(measured)), rcond=None)[0]
    return Model(*map(float, solution))


def left_out(runs: int, seconds: Mapping[int, float]) -> dict[int, float]:
    """Nodes -> what a model says that is fitted to all other measurements."""
    return {
        nodes: fitted(runs, {n: s for n, s in seconds.items() if n != nodes}).seconds(runs, nodes)
        for nodes in seconds
    }

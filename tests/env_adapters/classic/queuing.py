"""Access control's average rewards, by relative value iteration over its 44 states."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float64]  # (free servers, priorities)

PRIORITIES = np.array([1.0, 2.0, 4.0, 8.0])


def average_reward(policy: Callable[[Values, Values], Values]) -> float:
    """A policy makes one value of the values of rejecting and of accepting."""
    freed, values = _freed(), np.zeros((11, 4))
    for _ in range(2000):
        later = freed @ values.mean(axis=1)  # by servers that are free after the answer
        rejecting = np.repeat(later[:, None], 4, axis=1)
        accepting = rejecting.copy()
        accepting[1:] = PRIORITIES + later[:-1, None]
        better = policy(rejecting, accepting)
        gain = better - values
        values = better - better[0, 0]
    assert np.ptp(gain) < 1e-9, "it has not settled"
    return float(gain.mean())


def best(rejecting: Values, accepting: Values) -> Values:
    return np.maximum(rejecting, accepting)


def accept_all(rejecting: Values, accepting: Values) -> Values:
    return accepting


def at_random(rejecting: Values, accepting: Values) -> Values:
    return (rejecting + accepting) / 2


def _freed() -> npt.NDArray[np.float64]:
    """(free now, free at the next step): each busy server is freed with chance 0.06."""
    chances = np.zeros((11, 11))
    for free in range(11):
        busy = 10 - free
        for more in range(busy + 1):
            chances[free, free + more] = comb(busy, more) * 0.06**more * 0.94 ** (busy - more)
    return chances

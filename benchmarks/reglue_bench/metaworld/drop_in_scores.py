"""Computes the tuples that `metaworld.evaluation` returns, with its order of additions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reglue_bench.results.upstream import FirstFinished

Evaluation = tuple[float, float, dict[str, float], dict[str, list[float]]]
"""Mean success rate, mean return; success rate and returns by task."""


def scored(
    names: Sequence[str],
    finished: FirstFinished,
    successes: Sequence[Sequence[bool]],
    returns: Sequence[Sequence[Any]],
) -> Evaluation:
    """Upstream's sums, in upstream's order: that of a set of names."""
    # What ends in one step shares an array of the first one's type (VectorEnv._add_info).
    of_episode = {
        (env, episode): float(type(returns[together[0][0]][together[0][1]])(returns[env][episode]))
        for together in finished.at_once
        for env, episode in together
    }
    counted = {name: finished.counted[name] for name in set(names)}
    rates = {
        name: sum(successes[env][episode] for env, episode in of) / len(of)
        for name, of in counted.items()
    }
    episodes = {name: [of_episode[each] for each in of] for name, of in counted.items()}
    mean_success_rate = np.mean(list(rates.values()))
    return float(mean_success_rate), float(np.mean(list(episodes.values()))), rates, episodes


def averaged(
    names: Sequence[str], rows: Sequence[Evaluation]
) -> tuple[float, float, dict[str, float]]:
    """The mean of several evaluations, as at the end of upstream's `metalearning_evaluation`."""
    success_rate = mean_return = 0.0
    for row in rows:
        success_rate += row[0]
        mean_return += row[1]
    rates = np.array([list(row[2].values()) for row in rows]).mean(axis=0)
    by_task = {name: rates[place] for place, name in enumerate(set(names))}
    return success_rate / len(rows), mean_return / len(rows), by_task

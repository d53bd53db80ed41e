"""Shared by learners with one discrete action: its check, and ε-greedy choices."""

from __future__ import annotations

from collections.abc import Sequence

from reglue.errors import NotAnAgent
from reglue.rng import Rng
from reglue.spec import Discrete, TaskSpec


def discrete_action(spec: TaskSpec, agent: str) -> Discrete:
    """The domain of the task's only action. Raises NotAnAgent if it is not one integer."""
    match spec.actions:
        case [only] if isinstance(only.domain, Discrete) and only.size == 1:
            return only.domain
        case _:
            got = ", ".join(f"{tensor.name} {tensor.domain}" for tensor in spec.actions)
            raise NotAnAgent(f"{agent} needs one discrete action; this task has {got}")


def epsilon_greedy(values: Sequence[float], rng: Rng, epsilon: float) -> int:
    """The index of a highest of `values`, ties equally likely; with probability `epsilon` any
    index.

    Sutton & Barto 2018, section 2.2. It draws no more words than it needs.
    """
    if epsilon and rng.uniform() < epsilon:
        return rng.below(len(values))
    best = max(values)
    places = [place for place, value in enumerate(values) if value == best]
    return places[0] if len(places) == 1 else places[rng.below(len(places))]

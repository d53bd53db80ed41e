"""What learners with discrete actions share: the action that they need, and how they choose."""

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


def epsilon_greedy(values: Sequence[float], chance: Rng, epsilon: float) -> int:
    """The index of a highest of `values`, ties equally likely; with probability `epsilon` any
    index.

    Sutton & Barto 2018, section 2.2. It draws no more words than it needs.
    """
    if epsilon and chance.uniform() < epsilon:
        return chance.below(len(values))
    best = max(values)
    places = [place for place, value in enumerate(values) if value == best]
    return places[0] if len(places) == 1 else places[chance.below(len(places))]

"""Arrays of one row a slot, as a benchmark program gets them: copies of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reglue.experiment_calls import Stepped
from reglue.spec import Array, Arrays, TaskSpec
from reglue.worlds import Step


def stacked(spec: TaskSpec, rows: Sequence[Arrays]) -> dict[str, Array]:
    """Observations: name -> (rows, *shape)."""
    return {
        tensor.name: np.stack([row[tensor.name] for row in rows]) for tensor in spec.observations
    }


def stepped(
    spec: TaskSpec, slots: Sequence[int], steps: Mapping[int, Step], actions: Arrays
) -> Stepped:
    """What a step earned, in the order of `slots`."""
    taken = [steps[slot] for slot in slots]
    return Stepped(
        tuple(slots),
        rewards=np.array([step.reward for step in taken], np.float64),
        observations=stacked(spec, [step.observation for step in taken]),
        terminated=np.array([step.terminated for step in taken], np.bool_),
        truncated=np.array([step.truncated for step in taken], np.bool_),
        success=np.array([step.success for step in taken], np.bool_),
        actions=actions,
    )

"""Checks of a benchmark program's arguments: slots, observations, rewards and actions.

All raise RoutineRefused, before anything has changed, for an argument that does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glue_server.agent.actions import ActionChecks
from reglue.action_masks import Allowed
from reglue.errors import ROUTINE_REFUSALS, OutOfDomain, RoutineRefused
from reglue.spec import Array, Arrays, TaskSpec, TensorSpec, same_numbers


def check_slot(slot: int, count: int) -> None:
    """Raise OutOfDomain for an unknown slot."""
    if not 0 <= slot < count:
        raise OutOfDomain(got=f"slot {slot}", wanted=f"0 to {count - 1}")


def check_slots(slots: Sequence[int], count: int) -> None:
    """Raise OutOfDomain for unknown slots, or slots named twice."""
    for slot in slots:
        check_slot(slot, count)
    if len(set(slots)) != len(slots):
        raise OutOfDomain(got=f"slots {list(slots)}", wanted="each at most once")


def check_named(slots: Sequence[int], count: int) -> None:
    """As `check_slots`, and at least one must be named."""
    check_slots(slots, count)
    if not slots:
        raise OutOfDomain(got="no slots", wanted="one row for each of at least one slot")


def check_seed(seed: int) -> None:
    """Raise OutOfDomain for a seed that a Cell cannot hold."""
    if not 0 <= seed < 2**63:
        raise OutOfDomain(got=f"seed {seed}", wanted="0 to 2^63 - 1")


def checked_actions(
    checks: ActionChecks, actions: Arrays, rows: int, allowed: Allowed | None = None
) -> Arrays:
    """Legal actions, name -> (rows, *shape). What is out of a Box is the environment's to clip.

    `allowed`: see ActionChecks.check.
    """
    checked = checks.check(_rows(checks.spec.actions, actions, rows), rows, allowed)
    for bad in checked.refused.values():
        raise ROUTINE_REFUSALS.get(bad.code, OutOfDomain)(got=bad.got, wanted=bad.wanted)
    return checked.arrays


def checked_observations(spec: TaskSpec, observations: Arrays, rows: int) -> dict[str, Array]:
    """name -> (rows, *shape), in the spec's dtypes."""
    return _rows(spec.observations, observations, rows)


def checked_rewards(rewards: npt.ArrayLike, rows: int) -> npt.NDArray[np.float64]:
    """Finite numbers, one a row, (rows,)."""
    array = np.asarray(rewards, np.float64)
    if array.shape != (rows,):
        raise RoutineRefused(got=f"rewards of shape {array.shape}", wanted=f"({rows},)")
    if not np.isfinite(array).all():
        raise OutOfDomain(got=f"rewards {array.tolist()}", wanted="finite numbers")
    return array


def _rows(tensors: Sequence[TensorSpec], arrays: Arrays, rows: int) -> dict[str, Array]:
    names = [tensor.name for tensor in tensors]
    if set(arrays) != set(names):
        raise RoutineRefused(got=f"arrays {sorted(arrays)}", wanted=f"{sorted(names)}")
    return {tensor.name: _cast(tensor, np.asarray(arrays[tensor.name]), rows) for tensor in tensors}


def _cast(tensor: TensorSpec, array: Array, rows: int) -> Array:
    """In the spec's dtype, which no integer may change."""
    wanted = f"shape {(rows, *tensor.shape)}, {tensor.dtype}: one row for each slot"
    got = f"{tensor.name!r} of shape {array.shape}, {array.dtype}"
    if array.size != rows * tensor.size or array.dtype.kind not in "biuf":
        raise RoutineRefused(got=got, wanted=wanted)
    cast = same_numbers(array, tensor.numpy_dtype)
    if cast is None:
        raise OutOfDomain(got=got, wanted=f"numbers that are the same in {tensor.dtype}")
    return np.array(cast).reshape(rows, *tensor.shape)  # a copy: programs reuse their arrays

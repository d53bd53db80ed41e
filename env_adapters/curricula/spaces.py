"""One pair of spaces for all environments of a curriculum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from reglue.errors import UsageError


def common_actions(found: Sequence[tuple[str, Any]]) -> Any:
    """The actions of all: the largest Discrete, or the space that all have.

    `found` holds where each environment stands, and its space. Raises UsageError.
    """
    first_path, first = found[0]
    if all(isinstance(space, spaces.Discrete) and space.start == 0 for _, space in found):
        return max((space for _, space in found), key=lambda space: space.n)
    for path, space in found:
        if space != first:
            raise UsageError(
                f"{path}: got the actions {space}, wanted {first} as at {first_path}; only "
                "Discrete ones may differ"
            )
    return first


def fitting_action(action: Any, common: Any, space: Any) -> Any:
    """An action of `common` as one of `space`: what a smaller Discrete lacks is its 0.

    Raises UsageError for a negative one.
    """
    if not isinstance(common, spaces.Discrete):
        return action
    if action < 0:
        raise UsageError(f"got action {action}, wanted 0 to {common.n - 1}")
    return action if action < space.n else 0


def common_observations(found: Sequence[tuple[str, Any]], *, pad: bool) -> Any:
    """The observations of all, padded to the largest if `pad` says so.

    What is padded are Boxes of one dtype and number of axes. Raises UsageError.
    """
    first_path, first = found[0]
    for path, space in found:
        if space == first or (pad and _fit(first, space)):
            continue
        hint = "; pad=True pads them with zeros" if _fit(first, space) else ""
        raise UsageError(
            f"{path}: got the observations {space}, wanted {first} as at {first_path}{hint}"
        )
    if all(space == first for _, space in found):
        return first
    return _superset([space for _, space in found])


def padded(observation: Any, common: Any) -> Any:
    """An observation with zeros behind it, of the shape of `common`."""
    if not isinstance(common, spaces.Box) or observation.shape == common.shape:
        return observation
    whole = np.zeros(common.shape, common.dtype)
    whole[tuple(slice(size) for size in observation.shape)] = observation
    return whole


def task_ids(found: Sequence[tuple[str, Any]]) -> Any:
    """The Box of names that are a number or numbers, as many in each. Raises UsageError."""
    sizes = {}
    for path, name in found:
        try:
            numbers = np.array(name, np.float64, ndmin=1)
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
            raise UsageError(f"{path}: got the name {name!r}, wanted numbers: they are the task_id")
        sizes[numbers.size] = path
    if len(sizes) > 1:
        raise UsageError(f"got names of {sorted(sizes)} numbers, wanted as many in each")
    return spaces.Box(-np.inf, np.inf, (next(iter(sizes)),), np.float64)


def _fit(one: Any, other: Any) -> bool:
    return (
        isinstance(one, spaces.Box)
        and isinstance(other, spaces.Box)
        and one.dtype == other.dtype
        and len(one.shape) == len(other.shape)
    )


def _superset(found: Sequence[Any]) -> Any:
    shape = tuple(max(sizes) for sizes in zip(*(space.shape for space in found), strict=True))
    # 0 is what is behind an observation, so that each element may be 0.
    low, high = np.zeros(shape, found[0].dtype), np.zeros(shape, found[0].dtype)
    for space in found:
        held = tuple(slice(size) for size in space.shape)
        low[held] = np.minimum(low[held], space.low)
        high[held] = np.maximum(high[held], space.high)
    return spaces.Box(low, high, shape, found[0].dtype)

"""One pair of spaces for environments whose spaces differ, see `env_adapters.fitting`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from env_adapters.environment_configs.values import ConfigError
from env_adapters.fitting import Fit
from reglue.errors import BadArgument, MissingExtra

try:
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise MissingExtra("tasks whose spaces differ", "gymnasium", "the package gymnasium") from error

NamedSpaces: TypeAlias = Sequence[tuple[str, Any]]
"""Pairs of an environment's path in the schedule, or its task, and its space."""

Native: TypeAlias = Callable[[Any], Any]
"""Converts a common action to an environment's, or its observation to a common one."""


class Actions:
    """The common action space."""

    def __init__(self, spaces_by_path: NamedSpaces, fit: Fit) -> None:
        """Raises ConfigError if they cannot be combined."""
        self._kinds = _distinct_spaces(
            [_widest(space, spaces_by_path) for _, space in spaces_by_path]
        )
        if len(self._kinds) > 1 and fit != "superset":
            _refuse("actions", spaces_by_path, self._kinds[0], "; only Discrete ones may differ")
        self.space = self._kinds[0]
        if len(self._kinds) > 1:
            self.space = spaces.Dict(action=spaces.Tuple(self._kinds))

    def of(self, space: Any) -> Native:
        """Converts common actions for an environment with that space. An action above a smaller
        Discrete is 0. Raises UsageError for an action that is no integer from 0, or no Dict of a
        superset.
        """
        place = next(k for k, kind in enumerate(self._kinds) if _is_within(space, kind))
        limited = _limited(self._kinds[place].n, space.n) if _counts_from_0(space) else None
        if len(self._kinds) == 1:
            return limited or _same

        def native(action: Any) -> Any:
            try:
                chosen = action["action"][place]
            except (TypeError, KeyError, IndexError) as error:
                raise BadArgument(
                    got=f"the action {action!r}", wanted=f"one of {self.space}"
                ) from error
            return limited(chosen) if limited else chosen

        return native


class Observations:
    """The common observation space."""

    def __init__(self, spaces_by_path: NamedSpaces, fit: Fit) -> None:
        """Raises ConfigError if they cannot be combined."""
        self._kinds = _distinct_spaces([space for _, space in spaces_by_path])
        first = self._kinds[0]
        self._is_padded = fit == "pad" and all(_are_alike(first, kind) for kind in self._kinds)
        if len(self._kinds) > 1 and not self._is_padded and fit != "superset":
            _refuse("observations", spaces_by_path, first, '; fit="pad" pads Boxes that are alike')
        self.space = first if len(self._kinds) == 1 else self._common()

    def of(self, space: Any) -> Native:
        """Converts the observations of an environment with that space to common ones."""
        if len(self._kinds) == 1:
            return _same
        if self._is_padded:
            return self._padded
        place = self._kinds.index(space)
        before, behind = self._kinds[:place], self._kinds[place + 1 :]
        return lambda observation: {
            "observation": (*map(blank, before), observation, *map(blank, behind)),
            "kind": np.int64(place),
        }

    def _padded(self, observation: Any) -> Any:
        whole = np.zeros(self.space.shape, self.space.dtype)
        whole[tuple(slice(size) for size in observation.shape)] = observation
        return whole

    def _common(self) -> Any:
        if self._is_padded:
            return _padded_box(self._kinds)
        return spaces.Dict(
            observation=spaces.Tuple(self._kinds), kind=spaces.Discrete(len(self._kinds))
        )


def blank(space: Any) -> Any:
    """A blank value of the space: zeros, or the nearest legal values."""
    match space:
        case spaces.Dict():
            return {key: blank(inner) for key, inner in space.items()}
        case spaces.Tuple():
            return tuple(blank(inner) for inner in space)
        case spaces.Box():
            return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
        case spaces.Discrete():
            return space.start
        case spaces.Text():
            return "".join(space.character_list[:1] * space.min_length)
        case _:
            return np.zeros(space.shape, space.dtype)


def _same(value: Any) -> Any:
    return value


def _limited(most: int, size: int) -> Native:
    """Maps an action below `most` to one below `size`: larger ones to 0."""

    def native(action: Any) -> int:
        number = np.asarray(action)
        if number.shape != () or number.dtype.kind not in "iub" or number < 0:
            raise BadArgument(got=f"action {action!r}", wanted=f"0 to {most - 1}")
        return int(number) if number < size else 0

    return native


def _counts_from_0(space: Any) -> bool:
    return isinstance(space, spaces.Discrete) and space.start == 0


def _is_within(space: Any, kind: Any) -> bool:
    return bool(space == kind) or (_counts_from_0(space) and _counts_from_0(kind))


def _widest(space: Any, spaces_by_path: NamedSpaces) -> Any:
    """The largest of Discrete spaces that count from 0."""
    if not _counts_from_0(space):
        return space
    return max(
        (each for _, each in spaces_by_path if _counts_from_0(each)), key=lambda each: each.n
    )


def _distinct_spaces(all_spaces: Sequence[Any]) -> list[Any]:
    kinds: list[Any] = []
    for space in all_spaces:
        if space not in kinds:
            kinds.append(space)
    return kinds


def _refuse(what: str, spaces_by_path: NamedSpaces, first: Any, hint: str) -> None:
    path, space = next(
        (path, space)
        for path, space in spaces_by_path[1:]
        if space != first and not _is_within(space, first)
    )
    wanted = f'{spaces_by_path[0][1]} as at {spaces_by_path[0][0]}{hint}; fit="superset" keeps each'
    raise ConfigError(path, got=f"the {what} {space}", wanted=wanted)


def _are_alike(one: Any, other: Any) -> bool:
    return (
        isinstance(one, spaces.Box)
        and isinstance(other, spaces.Box)
        and one.dtype == other.dtype
        and len(one.shape) == len(other.shape)
    )


def _padded_box(boxes: Sequence[Any]) -> Any:
    shape = tuple(max(sizes) for sizes in zip(*(space.shape for space in boxes), strict=True))
    # Padding is 0, so every element may be 0.
    low, high = np.zeros(shape, boxes[0].dtype), np.zeros(shape, boxes[0].dtype)
    for space in boxes:
        part = tuple(slice(size) for size in space.shape)
        low[part] = np.minimum(low[part], space.low)
        high[part] = np.maximum(high[part], space.high)
    return spaces.Box(low, high, shape, boxes[0].dtype)

"""Gymnasium's spaces as tensors of a TaskSpec, and values of either as the other's."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from env_adapters.gymnasium.library import gymnasium
from reglue.errors import IllegalAction, UnknownName, UsageError
from reglue.spec import Array, Arrays, Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec

_KNOWN = "Box, Discrete, MultiBinary, MultiDiscrete from 0, Text, and Dict and Tuple of these"

_WHY_NOT: Mapping[str, str] = {
    "Graph": "its values differ in size",
    "Sequence": "its values differ in length",
    "OneOf": "its values differ in kind",
    "MultiDiscrete": "it does not begin at 0",
}


class Tensors:
    """The tensors of a space. A Dict's and a Tuple's entries are named by their path:
    `camera/left`, `joints/0`; any other space is one tensor, called `name`.

    Text is UTF-8 in uint8, zeros behind it. Raises UsageError for spaces without tensors, and if
    two would have the same name.
    """

    def __init__(self, name: str, space: Any) -> None:
        self.space = space
        self._leaves = [_leaf(path, leaf, name) for path, leaf in _leaves((), space)]
        self.specs = tuple(leaf.tensor for leaf in self._leaves)
        self._is_single = [leaf.path for leaf in self._leaves] == [()]  # most are, and are quicker
        names = [spec.name for spec in self.specs]
        if not names or len(set(names)) != len(names):
            raise UsageError(
                f"the {name} space {space} has entries {names}, wanted a name for each"
            )

    def only(self, names: Sequence[str]) -> Tensors:
        """Only these tensors, for `arrays`. Raises UsageError for an unknown one."""
        known = {spec.name: leaf for spec, leaf in zip(self.specs, self._leaves, strict=True)}
        for name in names:
            if name not in known:
                raise UnknownName("tensor to see", name, known)
        if not names:
            raise UsageError(f"got no tensors to see, wanted some of {sorted(known)}")
        some = copy.copy(self)
        some._leaves = [leaf for name, leaf in known.items() if name in names]
        some.specs = tuple(leaf.tensor for leaf in some._leaves)
        return some

    def arrays(self, value: Any) -> Arrays:
        """A value of the space as arrays, by name; copies."""
        if self._is_single:
            leaf = self._leaves[0]
            return {leaf.tensor.name: leaf.array(value)}
        found = {}
        for leaf in self._leaves:
            inner = value
            for key in leaf.path:
                inner = inner[key]
            found[leaf.tensor.name] = leaf.array(inner)
        return found

    def value(self, arrays: Arrays, *, clip: bool = False) -> Any:
        """Arrays as the value of the space. Raises IllegalAction if they do not fit.

        Numbers of a Box may be out of its bounds, unless they are to be clipped.
        """
        if self._is_single:
            leaf = self._leaves[0]
            return leaf.value(arrays[leaf.tensor.name], clip)
        values = {leaf.path: leaf.value(arrays[leaf.tensor.name], clip) for leaf in self._leaves}
        return _joined(self.space, (), values)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A space that is one tensor, and the keys that lead to it."""

    path: tuple[Any, ...]
    space: Any
    tensor: TensorSpec
    is_box: bool  # known beforehand, as each step asks
    is_text: bool

    def array(self, value: Any) -> Array:
        if isinstance(value, str):
            array = np.zeros(self.tensor.shape, np.uint8)
            text = value.encode()
            array[: len(text)] = np.frombuffer(text, np.uint8)
            return array
        # A copy: some environments go on computing with what they return.
        return np.array(value, self.tensor.dtype)

    def value(self, array: Array, clip: bool) -> Any:
        """A number where the shape is (). Raises IllegalAction."""
        array = np.array(array, self.tensor.dtype)
        space = self.space
        if self.is_box:
            if array.shape == self.tensor.shape and np.isfinite(array).all():
                return np.clip(array, space.low, space.high) if clip else array
        elif self.is_text:
            text = array.tobytes().rstrip(b"\0").decode(errors="replace")
            if text in space:
                return text
        elif space.contains(array[()]):
            return array[()]
        raise IllegalAction(f"got the {self.tensor.name} {array.tolist()}, wanted one of {space}")


def _leaves(path: tuple[Any, ...], space: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    spaces = gymnasium().spaces
    match space:
        case spaces.Dict():
            for key, inner in space.spaces.items():
                yield from _leaves((*path, key), inner)
        case spaces.Tuple():
            for place, inner in enumerate(space.spaces):
                yield from _leaves((*path, place), inner)
        case _:
            yield path, space


def _joined(space: Any, path: tuple[Any, ...], values: Mapping[tuple[Any, ...], Any]) -> Any:
    spaces = gymnasium().spaces
    match space:
        case spaces.Dict():
            return {key: _joined(inner, (*path, key), values) for key, inner in space.items()}
        case spaces.Tuple():
            return tuple(_joined(inner, (*path, k), values) for k, inner in enumerate(space))
        case _:
            return values[path]


def _leaf(path: tuple[Any, ...], space: Any, name: str) -> _Leaf:
    called = "/".join(str(key) for key in path) or name
    spaces = gymnasium().spaces
    is_box, is_text = isinstance(space, spaces.Box), isinstance(space, spaces.Text)
    return _Leaf(path, space, _tensor(called, space), is_box, is_text)


def _tensor(name: str, space: Any) -> TensorSpec:
    spaces = gymnasium().spaces
    match space:
        case spaces.Box():
            domain: Any = Box(_bound(space.low, -np.inf), _bound(space.high, np.inf))
        case spaces.Discrete():
            domain = Discrete(int(space.n), int(space.start))
        case spaces.MultiDiscrete() if not space.start.any():
            domain = MultiDiscrete(tuple(space.nvec.ravel().tolist()))
        case spaces.MultiBinary():
            domain = MultiBinary()
        case spaces.Text():
            return TensorSpec(name, "uint8", (_most_bytes(name, space),), Box((0,), (255,)))
        case _:
            why = _WHY_NOT.get(type(space).__name__, "there is none like it")
            raise UsageError(f"the {name} space {space} has no tensor, as {why}; wanted {_KNOWN}")
    return TensorSpec(name, str(space.dtype), tuple(space.shape), domain)


def _most_bytes(name: str, space: Any) -> int:
    """Of a text, in UTF-8."""
    if "\0" in space.character_set:
        raise UsageError(f"the {name} space {space} has the character NUL, which ends a text here")
    return int(space.max_length) * max(len(each.encode()) for each in space.character_set)


def _bound(values: Array, none: float) -> tuple[float, ...]:
    """No number where nothing is bounded, one where all elements are alike, else all."""
    flat = values.ravel().tolist()
    if not flat or any(each != flat[0] for each in flat):
        return tuple(map(float, flat))
    return () if flat[0] == none else (float(flat[0]),)

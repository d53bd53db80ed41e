"""Gymnasium's spaces as tensors of a TaskSpec, and values of either as the other's."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from env_adapters.gymnasium_library import gymnasium
from reglue.environments.validation import conforming_array, conforming_rows
from reglue.error_message import brief
from reglue.errors import BadArgument, IllegalAction, NotAnEnvironment, UnknownName
from reglue.spec import Array, Arrays, Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec
from reglue.texts import Text

_KNOWN = "Box, Discrete, MultiBinary, MultiDiscrete, Text, and Dict and Tuple of these"

_WHY_NOT: Mapping[str, str] = {
    "Graph": "its values differ in size",
    "Sequence": "its values differ in length",
    "OneOf": "its values differ in kind",
}

_ALL = (-np.inf, np.inf)  # limits, if all integers of a dtype are legal


class Tensors:
    """The tensors of a space. A Dict's and a Tuple's entries are named by their path:
    `camera/left`, `joints/0`; any other space is one tensor, called `name`.

    Text is UTF-8 in uint8, followed by zeros. If the elements of a MultiDiscrete differ in their
    start, agents see and choose values that count from 0. Raises UsageError for spaces without
    tensors, and if two tensors would have the same name.
    """

    def __init__(self, name: str, space: Any) -> None:
        self.space = space
        self._leaves = [_leaf(path, leaf, name) for path, leaf in _leaves((), space)]
        self.specs = tuple(leaf.tensor for leaf in self._leaves)
        self._is_single = [leaf.path for leaf in self._leaves] == [()]  # most are, and are quicker
        names = [spec.name for spec in self.specs]
        if not names or len(set(names)) != len(names):
            raise BadArgument(
                f"the {name} space {space} has entries {names}, wanted a name for each"
            )

    @property
    def plain_specs(self) -> tuple[TensorSpec, ...]:
        """The tensors as a TaskSpec has them."""
        return tuple(spec.plain for spec in self.specs)

    def only(self, names: Sequence[str]) -> Tensors:
        """The tensors called `names`, which `arrays` then returns. Raises UsageError for unknown
        names.
        """
        known = {spec.name: leaf for spec, leaf in zip(self.specs, self._leaves, strict=True)}
        for name in names:
            if name not in known:
                raise UnknownName("tensor to see", name, known)
        if not names:
            raise BadArgument(got="no tensors to see", wanted=f"some of {sorted(known)}")
        some = copy.copy(self)
        some._leaves = [leaf for name, leaf in known.items() if name in names]
        some.specs = tuple(leaf.tensor for leaf in some._leaves)
        return some

    def arrays(self, value: Any) -> Arrays:
        """A value of the space as arrays, by name; copies, since some environments go on writing to
        the array that they return.

        Raises NotAnEnvironment for a value without such arrays. Numbers outside the space are not
        refused.
        """
        return {name: np.array(array) for name, array in self._views(value).items()}

    def _views(self, value: Any) -> Arrays:
        """As `arrays`; they may be the value's own."""
        if self._is_single:
            leaf = self._leaves[0]
            return {leaf.tensor.name: leaf.array(value)}
        return {leaf.tensor.name: leaf.array(inner) for leaf, inner in self._inner(value)}

    def put(self, columns: Arrays, at: int, value: Any) -> None:
        """Write a value of the space into a row of `columns`, name -> (rows, *shape).

        Raises NotAnEnvironment as `arrays`, and for another shape.
        """
        leaf = self._leaves[0]
        if (  # the common case, without another call: it is that of each step
            self._is_single
            and type(value) is np.ndarray
            and value.dtype == leaf.dtype
            and value.shape == leaf.shape
            and leaf.start is None
        ):
            columns[leaf.tensor.name][at] = value
            return
        arrays = self._views(value)
        for tensor in self.specs:
            columns[tensor.name][at] = conforming_rows(arrays, tensor)

    def values(self, arrays: Arrays, *, clip: bool = False) -> Sequence[Any]:
        """Rows of arrays, (rows, *shape), as a value of the space each.

        They are checked and copied together where the space is one tensor. Raises IllegalAction if
        a row does not fit.
        """
        first = self._leaves[0]
        rows = arrays[first.tensor.name]
        if self._is_single and first.are_legal(rows):
            return first.values(rows, clip)
        return [
            self.value({name: rows[row] for name, rows in arrays.items()}, clip=clip)
            for row in range(len(rows))
        ]

    def parts(self, value: Any) -> list[Any]:
        """The parts of a value of the space, or of a batch of them, in the order of `specs`.

        Raises NotAnEnvironment for a value without such parts.
        """
        return [
            inner if leaf.start is None else inner - leaf.start
            for leaf, inner in self._inner(value)
        ]

    def _inner(self, value: Any) -> Iterator[tuple[_Leaf, Any]]:
        """The leaves of a value, each with its part of the value. Raises NotAnEnvironment."""
        for leaf in self._leaves:
            inner = value
            try:
                for key in leaf.path:
                    inner = inner[key]
            except (KeyError, IndexError, TypeError):
                wanted = f"one of {self.space}"
                raise NotAnEnvironment(leaf.what, got=brief(value), wanted=wanted) from None
            yield leaf, inner

    def batch(self, arrays: Arrays) -> Any:
        """Rows of arrays, (rows, *shape), as a batch of values of the space; not checked."""
        values = {
            leaf.path: arrays[leaf.tensor.name] + (0 if leaf.start is None else leaf.start)
            for leaf in self._leaves
        }
        return values[()] if self._is_single else _joined(self.space, (), values)

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

    what: str  # for messages
    path: tuple[Any, ...]
    space: Any
    tensor: TensorSpec
    dtype: np.dtype[Any]  # the tensor's, as is `shape`; stored here since each step reads them
    shape: tuple[int, ...]
    is_box: bool
    text: Text | None  # the tensor, if it is one
    start: Array | None  # of a MultiDiscrete that is shifted to 0
    limits: tuple[Any, Any] | None  # of what the space contains; None: they do not say it

    def array(self, value: Any) -> Array:
        """May be `value` itself."""
        if type(value) is np.ndarray and value.dtype == self.dtype and self.start is None:
            return value
        if self.text is not None:
            return self._encoded(self.text, value)
        array = conforming_array(self.what, value, self.dtype)
        return array if self.start is None else array - self.start

    def _encoded(self, text: Text, value: Any) -> Array:
        if not self.space.contains(value):
            raise NotAnEnvironment(self.what, got=brief(value), wanted=f"one of {self.space}")
        return text.encode(value)

    def are_legal(self, rows: Array) -> bool:
        """Whether all rows, (rows, *shape), are known to be legal, by one look at them."""
        if self.limits is None or rows.dtype != self.dtype:
            return False
        low, high = self.limits
        return 0 not in ((rows >= low) & (rows <= high)).tobytes()

    def values(self, rows: Array, clip: bool) -> Sequence[Any]:
        """Legal rows as values of the space, in an array of their own."""
        own = np.array(rows) if self.start is None else rows + self.start
        if clip and self.is_box:
            own = np.clip(own, self.space.low, self.space.high)
        return list(own)

    def value(self, array: Array, clip: bool) -> Any:
        """A number where the shape is (). Raises IllegalAction."""
        array = np.array(array, self.dtype)
        if self.start is not None:
            array += self.start
        space = self.space
        if self.is_box:
            if array.shape == self.tensor.shape and np.isfinite(array).all():
                return np.clip(array, space.low, space.high) if clip else array
        elif self.text is not None:
            return self.text.decode(array)
        elif space.contains(array[()]):
            return array[()]
        raise IllegalAction(
            got=f"the {self.tensor.name} {array.tolist()}", wanted=f"one of {space}"
        )


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
    tensor = _tensor(called, space)
    return _Leaf(
        what=f"{name} {called!r}",
        path=path,
        space=space,
        tensor=tensor,
        dtype=tensor.numpy_dtype,
        shape=tensor.shape,
        is_box=isinstance(space, spaces.Box),
        text=tensor if isinstance(tensor, Text) else None,
        start=space.start
        if isinstance(tensor.domain, MultiDiscrete) and space.start.any()
        else None,
        limits=_limits(space, tensor),
    )


def _limits(space: Any, tensor: TensorSpec) -> tuple[Any, Any] | None:
    """The least and the greatest legal numbers; of a Box the finite ones, which may be clipped.

    None for texts, for a class of somebody's own, and for a Box of one number without axes, whose
    values are arrays.
    """
    spaces = gymnasium().spaces
    if type(space) is spaces.Box and space.shape:
        finite = np.finfo(space.dtype) if space.dtype.kind == "f" else None
        return _ALL if finite is None else (finite.min, finite.max)
    if type(space) in (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary):
        return tensor.limits or _ALL
    return None


def _tensor(name: str, space: Any) -> TensorSpec:
    spaces = gymnasium().spaces
    match space:
        case spaces.Box():
            domain: Any = Box(_bound(space.low, -np.inf), _bound(space.high, np.inf))
        case spaces.Discrete():
            domain = Discrete(int(space.n), int(space.start))
        case spaces.MultiDiscrete() if space.start.any() and _are_alike(space.nvec, space.start):
            domain = Discrete(int(space.nvec.flat[0]), int(space.start.flat[0]))
        case spaces.MultiDiscrete():
            domain = MultiDiscrete(tuple(space.nvec.ravel().tolist()))
        case spaces.MultiBinary():
            domain = MultiBinary()
        case spaces.Text():
            return _text(name, space)
        case _:
            why = _WHY_NOT.get(type(space).__name__, "Reglue has no such domain")
            raise BadArgument(
                f"the {name} space {space} has no tensor, since {why}; wanted {_KNOWN}"
            )
    return TensorSpec(name, str(space.dtype), tuple(space.shape), domain)


def _are_alike(*parts: Array) -> bool:
    """Whether all elements of each part are equal: then one Discrete describes every element."""
    return all((part == part.flat[0]).all() for part in parts)


def _text(name: str, space: Any) -> Text:
    if "\0" in space.character_set:
        raise BadArgument(f"the {name} space {space} has the character NUL, which ends a text here")
    characters = "".join(space.character_list)
    least, most = int(space.min_length), int(space.max_length)
    return Text(name, most, min_length=least, charset=characters)


def _bound(values: Array, none: float) -> tuple[float, ...]:
    """A Box's bound: none if it equals `none`, one number if all are equal, else all numbers."""
    flat = values.ravel().tolist()
    if not flat or any(each != flat[0] for each in flat):
        return tuple(map(float, flat))
    return () if flat[0] == none else (float(flat[0]),)

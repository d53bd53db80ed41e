"""The sources of a dataset's episodes, and the places of their arrays."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.errors import MissingExtra
from reglue.spec import Array, TensorSpec
from reglue_bench.float_range import within

Place: TypeAlias = tuple[str, ...]
"""Keys that lead from `observations` or `actions` to an array; none if it is the only one."""

Organiser: TypeAlias = Mapping[str, Any]
"""Facts that the organiser knows of an episode and its agent does not: see run_source.ORGANISER."""

OWN = "reglue"
"""Key of our entries in a dataset's metadata: benchmark, plan, version and lost episodes."""


class Episode(ABC):
    """An episode of at least one step; its arrays are read at their first use."""

    organiser: Organiser | None  # None: the dataset was written without it

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of actions."""

    @property
    @abstractmethod
    def rewards(self) -> npt.NDArray[np.float64]:
        """The reward of every step, shape (steps,)."""

    @property
    @abstractmethod
    def actions(self) -> Mapping[Place, Array]:
        """Arrays of shape (steps, …), as the agent chose them: not clipped."""

    @abstractmethod
    def write(self, group: Any) -> None:
        """Write it into a new h5py.Group, as Minari does."""

    @property
    def return_(self) -> float:
        """The sum of rewards, in the order of steps, within the range of float64."""
        with np.errstate(over="ignore"):
            return within(float(np.cumsum(self.rewards)[-1]))

    @property
    def content(self) -> bytes:
        """A digest of actions and rewards. An order by it tells nothing of a plan's order."""
        digest, actions = hashlib.blake2b(digest_size=16), self.actions
        for place in sorted(actions):
            digest.update(np.ascontiguousarray(actions[place]).data)
        digest.update(np.ascontiguousarray(self.rewards).data)
        return digest.digest()


class Source(ABC):
    """Episodes in a fixed order. A context manager that releases its files."""

    name: str  # for people

    @property
    @abstractmethod
    def metadata(self) -> Mapping[str, Any]:
        """The content of Minari's metadata.json, without counts."""

    @property
    @abstractmethod
    def has_organiser(self) -> bool:
        """Whether episodes come with the organiser's fields."""

    @abstractmethod
    def __iter__(self) -> Iterator[Episode]:
        """The episodes, of which one at a time is in memory. Raises RunDamaged."""

    @property
    @abstractmethod
    def lost(self) -> int:
        """The number of episodes that were played and are missing here."""

    @abstractmethod
    def close(self) -> None:
        """Release its files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_extra() -> None:
    """Raise MissingExtra if the packages of the extra `datasets` are not installed."""
    try:
        import h5py  # noqa: F401
        import minari  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra("a dataset", "datasets", f"the package {error.name}") from error


def places(tensors: Sequence[TensorSpec]) -> dict[str, Place]:
    """The place of each tensor, by name.

    `robot/arm` is entry `arm` of the Dict `robot`, as in Gymnasium's spaces. Where that cannot be
    (a tensor is called `robot`, too), the dataset's Dict is flat, with dots for the slashes.
    """
    if len(tensors) == 1:
        return {tensors[0].name: ()}
    nested = {tensor.name: tuple(tensor.name.split("/")) for tensor in tensors}
    folders = {place[:depth] for place in nested.values() for depth in range(1, len(place))}
    keys = [key for place in nested.values() for key in place]
    if folders.isdisjoint(nested.values()) and all(key not in {"", "."} for key in keys):
        return nested
    flat = {name: name.replace("/", ".").strip(".") or "_" for name in nested}
    if len(set(flat.values())) < len(flat):
        flat = {name: f"tensor_{number}" for number, name in enumerate(nested)}
    return {name: (key,) for name, key in flat.items()}


def space_json(tensors: Sequence[TensorSpec]) -> str:
    """The space of the tensors, as Minari writes it."""
    from minari.serialization import serialize_space

    from reglue.spaces import space_of  # loads gymnasium

    at = places(tensors)
    return json.dumps(
        _joined(
            {at[each.name]: serialize_space(space_of((each,)), to_string=False) for each in tensors}
        )
    )


def _joined(spaces: Mapping[Place, Any]) -> Any:
    if () in spaces:
        return spaces[()]
    names = dict.fromkeys(place[0] for place in spaces)
    inner = {
        name: _joined({place[1:]: each for place, each in spaces.items() if place[0] == name})
        for name in names
    }
    return {"type": "Dict", "subspaces": inner}

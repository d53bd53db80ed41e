"""What a dataset's episodes are read from."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.errors import MissingExtra
from reglue.spec import Array

Place: TypeAlias = tuple[str, ...]
"""Keys that lead from `observations` or `actions` to an array; none where it is the only one."""

Organiser: TypeAlias = Mapping[str, Any]
"""What the organiser knows of an episode and its agent does not: see run_source.ORGANISER."""

OWN = "reglue"
"""Key of our entries in a dataset's metadata: benchmark, plan, version and lost episodes."""


class Episode(ABC):
    """An episode of at least one step; its arrays are read when they are asked for."""

    organiser: Organiser | None  # None: the dataset was written without it

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many actions it has."""

    @property
    @abstractmethod
    def rewards(self) -> npt.NDArray[np.float64]:
        """Of every step, shape (steps,)."""

    @property
    @abstractmethod
    def actions(self) -> Mapping[Place, Array]:
        """Arrays of shape (steps, …), as the agent chose them: not clipped."""

    @abstractmethod
    def write(self, group: Any) -> None:
        """Write it into a new h5py.Group, as Minari does."""

    @property
    def return_(self) -> float:
        """The sum of rewards, in the order of steps."""
        return float(np.cumsum(self.rewards)[-1])

    @property
    def content(self) -> bytes:
        """A digest of actions and rewards. An order by it tells nothing of a plan's order."""
        found, actions = hashlib.blake2b(digest_size=16), self.actions
        for place in sorted(actions):
            found.update(np.ascontiguousarray(actions[place]).data)
        found.update(np.ascontiguousarray(self.rewards).data)
        return found.digest()


class Source(ABC):
    """Episodes in a fixed order. A context manager that releases its files."""

    name: str  # for people

    @property
    @abstractmethod
    def metadata(self) -> Mapping[str, Any]:
        """As in Minari's metadata.json, without counts."""

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
        """How many episodes were played and are not here."""

    @abstractmethod
    def close(self) -> None:
        """Release its files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_extra() -> None:
    """Raise MissingExtra where the packages of the extra `datasets` are not installed."""
    try:
        import h5py  # noqa: F401
        import minari  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra("a dataset", "datasets", f"the package {error.name}") from error

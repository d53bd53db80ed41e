"""An episode's state as bytes: a checksum, a JSON header and raw numbers; no pickle."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from env_adapters.sealed import seal, unseal
from reglue.environments.world import Cell
from reglue.errors import UsageError
from reglue.messages.agent import Phase
from reglue.spec import DTYPES, Array, Arrays

Header: TypeAlias = Mapping[str, Any]

_STATE = b"reglue.gymnasium.state.1\n"
_CHANCE = b"reglue.gymnasium.chance.1\n"
_LENGTH = struct.Struct("<I")  # bytes of the header


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An episode in its middle."""

    suite: Mapping[str, str]  # id, options, versions: others refuse it
    cell: Cell
    steps: int  # since the episode began
    chance: Array  # where its generator stands, (13,) uint64
    inside: Arrays  # what an environment of this id keeps, by name

    def to_bytes(self) -> bytes:
        """1 to 5 kB, the same in every process."""
        header = {
            "suite": dict(self.suite),
            "cell": dataclasses.asdict(self.cell),
            "steps": self.steps,
        }
        return _seal(_STATE, header, {_GENERATOR: self.chance, **self.inside})


def read_snapshot(state: bytes) -> Snapshot:
    """What `to_bytes` wrote. Raises UsageError for anything else."""
    header, arrays = _unseal(_STATE, state, "state")
    try:
        cell = header["cell"]
        return Snapshot(
            {str(key): str(value) for key, value in header["suite"].items()},
            Cell(**{**cell, "phase": Phase(cell["phase"])}),
            int(header["steps"]),
            arrays.pop(_GENERATOR),
            arrays,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable("state", error) from error


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an episode's chance stands."""

    suite: Mapping[str, str]
    chance: Array

    def to_bytes(self) -> bytes:
        """About 500 bytes."""
        return _seal(_CHANCE, {"suite": dict(self.suite)}, {_GENERATOR: self.chance})


def read_standing(seed: bytes) -> Standing:
    """What `to_bytes` wrote. Raises UsageError for anything else."""
    header, arrays = _unseal(_CHANCE, seed, "random seed")
    try:
        suite = {str(key): str(value) for key, value in header["suite"].items()}
        return Standing(suite, arrays[_GENERATOR])
    except (AttributeError, KeyError, TypeError) as error:
        raise _unreadable("random seed", error) from error


_GENERATOR = "np_random"


def _seal(magic: bytes, header: Header, arrays: Arrays) -> bytes:
    shapes = [[name, array.dtype.name, array.shape] for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": shapes}, sort_keys=True).encode()
    little = (array.astype(array.dtype.newbyteorder("<")) for array in arrays.values())
    body = _LENGTH.pack(len(text)) + text + b"".join(array.tobytes() for array in little)
    return seal(magic, body)


def _unseal(magic: bytes, sealed: bytes, what: str) -> tuple[Header, dict[str, Array]]:
    body = unseal(magic, sealed, f"the {what} of a Gymnasium environment", what=what)
    try:
        (length,) = _LENGTH.unpack_from(body)
        header = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        return header, _arrays(header["arrays"], body[_LENGTH.size + length :])
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise _unreadable(what, error) from error


def _arrays(shapes: list[tuple[str, str, list[int]]], numbers: bytes) -> dict[str, Array]:
    arrays = {}
    for name, dtype, shape in shapes:
        if dtype not in DTYPES:
            raise ValueError(f"dtype {dtype!r}")
        little = np.dtype(dtype).newbyteorder("<")
        taken = little.itemsize * int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(numbers[:taken], little).reshape(shape).astype(dtype)
        numbers = numbers[taken:]
    if numbers:
        raise ValueError(f"{len(numbers)} bytes too many")
    return arrays


def _unreadable(what: str, error: Exception) -> UsageError:
    return UsageError(f"got a {what} that cannot be read: {error!r}; wanted it as it was kept")

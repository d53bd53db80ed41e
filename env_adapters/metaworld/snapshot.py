"""An episode's state as bytes: a checksum, a JSON header and raw numbers; no pickle."""

from __future__ import annotations

import dataclasses
import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.simulator import SimulatorState
from env_adapters.sealed import seal, unseal
from reglue.environments.world import Cell
from reglue.errors import UsageError
from reglue.messages.agent import Phase

_MAGIC = b"reglue.metaworld.state.1\n"
_LENGTH = struct.Struct("<I")  # bytes of the header
_NUMBERS = "<f8"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An episode in its middle."""

    suite: str  # names the suite's config and the packages' versions; others refuse it
    cell: Cell
    state: SimulatorState

    def to_bytes(self) -> bytes:
        """About 3 kB, the same in every process."""
        header = {
            "suite": self.suite,
            "cell": dataclasses.asdict(self.cell),
            "steps": self.state.steps,
            "first_distance": self.state.first_distance,
            "sizes": [self.state.physics.size, self.state.previous.size],
        }
        text = json.dumps(header, sort_keys=True).encode()
        numbers = np.concatenate([self.state.physics, self.state.previous]).astype(_NUMBERS)
        body = _LENGTH.pack(len(text)) + text + numbers.tobytes()
        return seal(_MAGIC, body)


def read_snapshot(key: bytes) -> Snapshot:
    """What `to_bytes` wrote. Raises UsageError for anything else."""
    body = unseal(_MAGIC, key, "the state of a Meta-World environment")
    try:
        return _read_body(body)
    except (ValueError, TypeError, KeyError, struct.error) as error:
        raise UsageError(f"got a state that cannot be read: {error!r}") from error


def _read_body(body: bytes) -> Snapshot:
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    header: dict[str, Any] = json.loads(body[_LENGTH.size : end])
    physics, previous = (int(size) for size in header["sizes"])
    numbers: npt.NDArray[np.float64] = np.frombuffer(body[end:], _NUMBERS).astype(np.float64)
    if physics < 0 or previous < 0 or numbers.size != physics + previous:
        raise ValueError(f"{numbers.size} numbers, wanted {physics} + {previous}")
    cell = header["cell"]
    first_distance = header["first_distance"]
    return Snapshot(
        str(header["suite"]),
        Cell(**{**cell, "phase": Phase(cell["phase"])}),
        SimulatorState(
            numbers[:physics],
            numbers[physics:],
            int(header["steps"]),
            None if first_distance is None else float(first_distance),
        ),
    )

"""Saved states as bytes: a mark, a checksum, and a JSON header with arrays; no pickle."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from reglue.errors import BadArgument, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from reglue.spec import DTYPES, Array, Arrays

Header: TypeAlias = Mapping[str, Any]

_EPISODE = b"reglue.episode.state.1\n"
_GENERATOR = b"reglue.generator.state.1\n"
_LENGTH = struct.Struct("<I")  # bytes of the header
_DIGEST_BYTES = 32
_WORDS = "np_random"  # the name of the generator's words among the arrays


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """A running episode, from which another world can continue."""

    suite: Mapping[str, str]  # id, options, versions; a world with other values refuses the state
    cell: Cell
    steps: int  # since the episode began
    inside: Arrays  # the environment's own state, by name
    generator: Array = field(  # words of its random generator, uint64; (0,) if it has none
        default_factory=lambda: np.zeros(0, np.uint64)
    )

    def to_bytes(self) -> bytes:
        """The state as 1 to 5 kB, the same bytes in every process."""
        header = {
            "suite": dict(self.suite),
            "cell": dataclasses.asdict(self.cell),
            "steps": self.steps,
        }
        return _pack(_EPISODE, header, {_WORDS: self.generator, **self.inside})


def read_episode_state(state: bytes) -> EpisodeState:
    """The state that `to_bytes` wrote. Raises UsageError for any other bytes."""
    with _reading("state"):
        header, arrays = _unpack(_EPISODE, state, "state")
        cell = header["cell"]
        return EpisodeState(
            suite={str(key): str(value) for key, value in header["suite"].items()},
            cell=Cell(**{**cell, "phase": Phase(cell["phase"])}),
            steps=int(header["steps"]),
            generator=arrays.pop(_WORDS),
            inside=arrays,
        )


@dataclass(frozen=True, slots=True)
class GeneratorState:
    """The state of an episode's random generator."""

    suite: Mapping[str, str]  # as an EpisodeState's
    generator: Array

    def to_bytes(self) -> bytes:
        """The random state as about 500 bytes."""
        return _pack(_GENERATOR, {"suite": dict(self.suite)}, {_WORDS: self.generator})


def read_generator_state(seed: bytes) -> GeneratorState:
    """The random state that `to_bytes` wrote. Raises UsageError for any other bytes."""
    with _reading("random seed"):
        header, arrays = _unpack(_GENERATOR, seed, "random seed")
        suite = {str(key): str(value) for key, value in header["suite"].items()}
        return GeneratorState(suite, arrays[_WORDS])


def seal(mark: bytes, body: bytes) -> bytes:
    """`mark`, the SHA-256 of `body`, and `body`."""
    return mark + hashlib.sha256(body).digest() + body


def unseal(mark: bytes, sealed: bytes, wanted: str, *, what: str = "state") -> bytes:
    """The body. Raises UsageError, which names what was `wanted`, unless `seal` wrote it."""
    if not sealed.startswith(mark):
        raise BadArgument(got=f"{sealed[:60]!r}…", wanted=wanted)
    digest, body = sealed[len(mark) :][:_DIGEST_BYTES], sealed[len(mark) + _DIGEST_BYTES :]
    if hashlib.sha256(body).digest() != digest:
        raise BadArgument(
            got=f"a damaged {what} of {len(sealed)} bytes", wanted="the bytes that were saved"
        )
    return body


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, struct.error) as error:
        if isinstance(error, UsageError):
            raise
        raise BadArgument(
            got=f"a {what} that cannot be read: {error!r}", wanted="the bytes that were saved"
        ) from error


def _pack(mark: bytes, header: Header, arrays: Arrays) -> bytes:
    shapes = [[name, array.dtype.name, array.shape] for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": shapes}, sort_keys=True).encode()
    little = (array.astype(array.dtype.newbyteorder("<")) for array in arrays.values())
    body = _LENGTH.pack(len(text)) + text + b"".join(array.tobytes() for array in little)
    return seal(mark, body)


def _unpack(mark: bytes, sealed: bytes, what: str) -> tuple[Header, dict[str, Array]]:
    body = unseal(mark, sealed, f"the {what} of an episode", what=what)
    (length,) = _LENGTH.unpack_from(body)
    header = json.loads(body[_LENGTH.size : _LENGTH.size + length])
    return header, _arrays(header["arrays"], body[_LENGTH.size + length :])


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

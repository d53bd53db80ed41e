"""Gives a target its corpus, then mutations of it: typed errors, little time, little memory."""

from __future__ import annotations

import hashlib
import random
import re
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.fuzz.targets import ALLOWED, TARGETS, Target

CORPUS = Path(__file__).with_name("corpus")

_MOST_KEPT = 20  # at once: a corpus stays small

_MOST_S = 20.0  # of one input and of this thread


def corpus(name: str) -> list[bytes]:
    """The corpus of a target, in the order of names."""
    return [path.read_bytes() for path in sorted(CORPUS.joinpath(name).glob("*.bin"))]


def fuzz(name: str, *, seed: int, inputs: int) -> None:
    """The corpus, then so many mutations, the same for the same seed. Raises what it finds."""
    target = TARGETS[name]
    for data in (*target.seeds, *_mutations(name, seed, inputs)):
        outcome(target, data)


def explore(name: str, *, seed: int, until: float) -> list[bytes]:
    """Mutations until `until`, monotonic seconds; those whose outcome the corpus lacks."""
    target = TARGETS[name]
    known = {outcome(target, data) for data in (*target.seeds, *corpus(name))}
    found: list[bytes] = []
    for data in _mutations(name, seed, None):
        if time.monotonic() > until:
            break
        if (came := outcome(target, data)) not in known:
            known.add(came)
            found.append(data)
    return found


def keep(name: str, inputs: Sequence[bytes]) -> None:
    """Add the first of them to the corpus."""
    folder = CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs[:_MOST_KEPT]:
        folder.joinpath(f"{hashlib.sha256(data).hexdigest()[:16]}.bin").write_bytes(data)


def outcome(target: Target, data: bytes) -> str:
    """The result: the error without its numbers and names. Raises any other than ALLOWED."""
    assert len(data) <= target.most_bytes, "mutations are cut"
    began = time.thread_time()
    tracemalloc.start()
    try:
        came = _outcome(target, data)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.thread_time() - began < _MOST_S, f"slow: {data!r}"
    assert most < target.most_memory, f"took {most} bytes: {data!r}"
    return came


def _outcome(target: Target, data: bytes) -> str:
    try:
        target.read(data)
    except ALLOWED as error:
        raised = error
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} of {data!r}") from error
    else:
        return "taken"
    assert len(str(raised)) < 2 * target.most_bytes, f"says too much: {data!r}"
    told = re.sub(r"\d+|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)", "", str(raised))
    return f"{type(raised).__name__} {' '.join(told.split()[:4])}"


def _mutations(name: str, seed: int, inputs: int | None) -> Iterator[bytes]:
    seeds = [*TARGETS[name].seeds, *corpus(name)]
    chance = random.Random(f"{name} {seed}")
    yield from corpus(name)
    while inputs is None or inputs > 0:
        inputs = None if inputs is None else inputs - 1
        yield TARGETS[name].mutate(chance, seeds)

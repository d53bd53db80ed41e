"""Keys of all randomness, derived from the host's secret, or without one from the seed.

| key | draws | who shares it |
| --- | --- | --- |
| of goals | which goals a benchmark has | all runs under one secret |
| of cells | the seeds of episodes | all runs under one secret, so that they can be compared |
| of training | tasks, variants and seeds that are trained on | all runs of one training seed |
| of a submission | start seeds, and the order of trials | nobody: each run has its own |

Keys are 32 bytes of HMAC-SHA256; none tells another, or the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PUBLIC = "public"
"""In place of the commitment to a key of cells that follows from the seed."""


def goal_key(secret: str | None) -> bytes | None:
    """The key that draws goals; None without a secret: the seed draws them."""
    return None if secret is None else _derived(_master(secret), "reglue goals")


def cell_key(secret: str | None) -> bytes | None:
    """The key of the cells' seeds; None without a secret: the plan's seed determines them."""
    return None if secret is None else _derived(_master(secret), "reglue cells")


def training_key(seed: int, secret: str | None, training_seed: int | None) -> bytes:
    """The key of training episodes, for a plan's seed and a training seed (None means 0)."""
    label = f"reglue training {seed} {training_seed or 0}"
    return _derived(run_secret(seed, secret), label)


def commitment(key: bytes | None) -> str:
    """The hash that a plan publishes of its key of cells; it does not reveal the key."""
    return PUBLIC if key is None else hashlib.sha256(b"reglue commitment" + key).hexdigest()


@dataclass(frozen=True, slots=True)
class Submission:
    """The keys that belong to one run. A run that starts anew is another submission."""

    starts: bytes  # keys start seeds
    order: bytes  # keys the order of trials
    nonce: str  # 128 bits, hexadecimal, or as given; else empty without a secret

    @classmethod
    def new(cls, seed: int, secret: str | None, entrant: str = "", nonce: str = "") -> Submission:
        """The keys of the bake-off's `entrant`, or of an agent that plays alone.

        Without a secret it follows from the seed and the entrant: a run that is repeated
        repeats its agent's random draws, and agents that try small seeds find out which cell a
        start seed belongs to. To host strangers' agents, give a secret. The same `nonce`
        repeats the submission that had it before.
        """
        nonce = nonce or ("" if secret is None else secrets.token_hex(16))
        starts = run_secret(seed, secret)
        if nonce or entrant:
            starts = _derived(starts, f"reglue submission {json.dumps([entrant, nonce])}")
        return cls(starts, _derived(starts, "reglue order"), nonce)


def run_secret(seed: int, secret: str | None = None) -> bytes:
    """The key from which a submission's keys follow: made from the secret, else from the seed."""
    if secret is not None:
        return _master(secret)
    return hashlib.sha256(f"reglue run secret {seed}".encode()).digest()


def shuffled(numbers: Iterable[int], key: bytes, label: str = "unit") -> npt.NDArray[np.int64]:
    """The places of different numbers, in an order that only the key's holder knows.

    The order of two numbers does not depend on the others. Another `label` gives another order.
    """

    def digest_of(number: int) -> int:
        digest = hmac.digest(key, f"reglue {label} {number}".encode(), hashlib.sha256)
        return int.from_bytes(digest[:8], "big")

    return np.argsort(np.fromiter(map(digest_of, numbers), np.uint64), kind="stable")


def _master(secret: str) -> bytes:
    return hashlib.sha256(f"reglue own secret {secret}".encode()).digest()


def _derived(key: bytes, label: str) -> bytes:
    return hmac.digest(key, label.encode(), hashlib.sha256)

"""Where the fast step is known to equal the plain one.

A test plays all 50 tasks with both and compares bits. Beside the versions and sources of
`env_adapters.metaworld.proof` it depends on NumPy's and SciPy's arithmetic (seen with NumPy
2.4.6 and SciPy 1.17.1): on a machine where that is not what we take it for, the plain step
plays.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from env_adapters.metaworld.fast.arithmetic import clip, lengths_here, norm_like, tolerance_like
from env_adapters.metaworld.fast.rotation import quaternion
from env_adapters.metaworld.library import metaworld, mujoco
from env_adapters.metaworld.proof import is_verified


@cache
def step_is_verified() -> bool:
    """Whether to trust the fast step in this process; takes some 10 ms, once."""
    return is_verified() and _arithmetic_agrees()


def _arithmetic_agrees() -> bool:
    """Our versions against NumPy's, SciPy's and metaworld's, on this machine's hardware."""
    chance = np.random.Generator(np.random.Philox(0))
    return all(
        _norms_agree(chance) and _tolerances_agree(chance) and _quaternions_agree(chance)
        for _ in range(100)
    )


def _norms_agree(chance: np.random.Generator) -> bool:
    norm = norm_like(lengths_here().of)
    vectors = [chance.normal(size=size) for size in (2, 3, 4)]
    number = np.float32(chance.normal())
    return all(_same(norm(each), np.linalg.norm(each)) for each in [*vectors, vectors[0][0]]) and (
        _same(clip(number, -1, 1), np.clip(number, -1, 1))
    )


def _tolerances_agree(chance: np.random.Generator) -> bool:
    original = metaworld("utils.reward_utils").tolerance
    ours = tolerance_like(original)
    x, upper, margin = chance.exponential(size=3)
    return all(
        _same(ours(x, (0, upper), margin, sigmoid), original(x, (0, upper), margin, sigmoid))
        for sigmoid in ("long_tail", "gaussian")
    )


def _quaternions_agree(chance: np.random.Generator) -> bool:
    rotation = metaworld("envs.sawyer_push_v3").Rotation
    direction, matrix = chance.normal(size=4), np.empty(9)
    mujoco().mju_quat2Mat(matrix, direction / np.linalg.norm(direction))
    ours = quaternion(matrix.reshape(3, 3))
    return _same(ours, rotation.from_matrix(matrix.reshape(3, 3)).as_quat())


def _same(ours: Any, theirs: Any) -> bool:
    return type(ours) is type(theirs) and np.array(ours).tobytes() == np.array(theirs).tobytes()

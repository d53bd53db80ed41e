"""Compares the spaces that a model was made for with those of a task."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reglue.errors import NotAnAgent
from reglue.spec import Array, TensorSpec

_MOST_WORDS = 160  # characters of a space in a message

_REMEDY = (
    "; if its environment was wrapped in training, evaluate a function that makes the environment "
    "with the same wrappers"
)


def check_model_spaces(
    model: Any,
    observations: Sequence[TensorSpec],
    actions: Sequence[TensorSpec],
    *,
    clip_obs: float | None = None,
) -> None:
    """Raise NotAnAgent if the model's spaces are others than the tensors'.

    A model that has no spaces of Gymnasium's is not checked. `clip_obs` is that of the VecNormalize
    between the two, if there is one.
    """
    _check("observation", getattr(model, "observation_space", None), observations, clip_obs)
    _check("action", getattr(model, "action_space", None), actions, None)


def _check(what: str, space: Any, tensors: Sequence[TensorSpec], clip_obs: float | None) -> None:
    gymnasium = sys.modules.get("gymnasium")  # loaded, if the space is its
    if gymnasium is None or not isinstance(space, gymnasium.Space):
        return
    from reglue.spaces import space_of

    here = {tensor.name: space_of((tensor,)) for tensor in tensors}
    parts = getattr(space, "spaces", None)
    if isinstance(parts, Mapping):
        pairs = [(part, here.get(name)) for name, part in parts.items()]
        fits = parts.keys() == here.keys()
    else:
        pairs = [(space, each) for each in here.values()]
        fits = len(here) == 1
    same = _sees_same if what == "observation" else _equal
    if not fits or not all(same(of_model, own, clip_obs) for of_model, own in pairs):
        got, wanted = _told(space), _told(space_of(tensors))
        raise NotAnAgent(what, got=f"a model of {got}", wanted=f"one of {wanted}{_REMEDY}")


def _equal(of_model: Any, own: Any, _clip_obs: float | None) -> bool:
    if type(of_model).__name__ == type(own).__name__ == "MultiBinary":  # of n or of (n,)
        return bool(of_model.shape == own.shape)
    return bool(of_model == own)


def _sees_same(of_model: Any, own: Any, clip_obs: float | None) -> bool:
    """Whether both hold the same values, or those that Stable-Baselines3 makes of them itself.

    It moves the channels of pictures to the front, VecNormalize gives pictures other bounds, and
    VecFrameStack has bounds in another order than values. Some tasks declare no bounds.
    """
    if _equal(of_model, own, clip_obs):
        return True
    if not (type(of_model).__name__ == type(own).__name__ == "Box"):
        return False
    if of_model.shape != own.shape and of_model.shape != _channels_first(own):
        return False
    if clip_obs is not None and of_model.dtype == np.float32 and _is(of_model, clip_obs):
        return True
    return of_model.dtype == own.dtype and (_is(own, np.inf) or _has_bounds_of(of_model, own))


def _channels_first(space: Any) -> tuple[int, ...] | None:
    """The shape of a picture as PyTorch has it; None if the tensor is no picture."""
    if space.dtype != np.uint8 or len(space.shape) != 3:
        return None
    *size, channels = space.shape
    return (channels, *size)


def _is(space: Any, bound: float) -> bool:
    """Whether each element of a Box lies between -bound and bound."""
    return bool((space.high == bound).all() and (space.low == -bound).all())


def _has_bounds_of(of_model: Any, own: Any) -> bool:
    return _alike(of_model.low, own.low) and _alike(of_model.high, own.high)


def _alike(some: Array, others: Array) -> bool:
    """Whether both hold the same numbers in any order, as near as Gymnasium compares them."""
    return np.allclose(np.sort(some, axis=None), np.sort(others, axis=None))


def _told(space: Any) -> str:
    words = " ".join(str(space).split())  # in one line
    return words if len(words) <= _MOST_WORDS else f"{words[:_MOST_WORDS]} …"

"""Masks of actions: an observation that says which actions are legal now.

Sources of the convention: Gymnasium's `Discrete.sample(mask)` and PettingZoo's observations, which
have a key `action_mask`; for several choices at once sb3-contrib's MaskablePPO, whose masks of a
MultiDiscrete lie one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reglue.error_message import brief
from reglue.spec import Array, Arrays, Discrete, MultiDiscrete, TaskSpec, TensorSpec
from reglue.texts import action_texts

ACTION_MASK = "action_mask"
"""The name of the observation."""

Allowed = npt.NDArray[np.bool_]
"""Which choices are legal, (rows, n)."""


def action_mask(spec: TaskSpec) -> ActionMask | None:
    """How to read the masks of a task; None if it shows none.

    A mask is an observation that is called `action_mask`, of dtype bool, int8 or uint8, whose
    values are 0 or 1, beside a single action: of shape (n,) beside one Discrete(n), or of shape
    (sum of n,) beside a MultiDiscrete(n), whose choices come one after another, row-major. Any
    other tensor of that name is an ordinary observation.
    """
    shown = next((each for each in spec.observations if each.name == ACTION_MASK), None)
    if shown is None or len(spec.actions) != 1 or not _is_binary(shown):
        return None
    [action] = spec.actions
    match action.domain:
        case Discrete(n, start) if action.size == 1:
            mask = ActionMask(action, (n,), start)
        case MultiDiscrete(each) if action.size:
            mask = ActionMask(action, tuple(each), 0)
        case _:
            return None
    return mask if shown.shape == (sum(mask.choices),) else None


def sample_action(spec: TaskSpec, seen: Arrays, rng: np.random.Generator) -> dict[str, Array]:
    """A random action of a task: name -> one row. A text is one that the task takes.

    Where `seen`, the observations of one row, have a mask, it is one of those that are legal.
    """
    if (mask := action_mask(spec)) is not None:
        return {mask.action.name: mask.sample(seen[ACTION_MASK], rng)}
    texts = action_texts(spec)
    return {each.name: texts.get(each.name, each).sample(rng) for each in spec.actions}


@dataclass(frozen=True, slots=True)
class ActionMask:
    """The masks of a task, see `action_mask`."""

    action: TensorSpec
    choices: tuple[int, ...]  # how many each element of the action has
    least: int  # the first of them
    _firsts: npt.NDArray[np.intp] = field(init=False, repr=False, compare=False)
    """The column of each element's first choice."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_firsts", np.cumsum([0, *self.choices[:-1]], dtype=np.intp))

    def allowed(self, observations: Arrays) -> Allowed:
        """The choices that rows of observations allow, (rows, n): a new array."""
        return np.asarray(observations[ACTION_MASK] != 0)

    def mistakes(self, allowed: Allowed, actions: Arrays) -> dict[int, tuple[str, str]]:
        """The rows whose action is forbidden, each with the texts `got` and `wanted` of an error.

        `actions`: name -> (rows, *shape). What is outside of its domain is not judged.
        """
        count, columns = allowed.shape
        rows = actions[self.action.name].reshape(count, len(self.choices))
        chosen = rows.astype(np.intp) - self.least
        places = chosen + self._firsts + np.arange(0, count * columns, columns)[:, None]
        if 0 not in allowed.take(places, mode="clip").tobytes():
            return {}
        inside = (chosen >= 0) & (chosen < self.choices)
        forbidden = np.asarray((inside & ~allowed.take(places, mode="clip")).any(axis=1))
        return {
            row: (f"{self.action.name!r} = {rows[row].tolist()}", self.wanted(allowed[row]))
            for row in forbidden.nonzero()[0].tolist()
        }

    def blocks(self, allowed: Allowed) -> npt.NDArray[np.bool_]:
        """The rows that allow no action at all, (rows,)."""
        if len(self.choices) == 1:
            return np.asarray(~np.logical_or.reduce(allowed, axis=1))
        has_choice = np.logical_or.reduceat(allowed, self._firsts, axis=1)  # of each element
        return np.asarray(~has_choice.all(axis=1))

    def first(self, allowed: Allowed) -> Array:
        """The least legal action of each row, (rows, *shape)."""
        chosen = [part.argmax(axis=1) + self.least for part in self._parts(allowed)]
        return self._rows(np.stack(chosen, axis=1))

    def sample(self, shown: Array, rng: np.random.Generator) -> Array:
        """One of the actions that a mask shows as legal, (n,), all equally likely; shape `shape`.

        It draws a number for each element. Raises ValueError if none is legal.

        >>> import numpy as np
        >>> from reglue.spec import MultiBinary
        >>> seen = TensorSpec("action_mask", "int8", (3,), MultiBinary())
        >>> mask = action_mask(TaskSpec((seen,), (TensorSpec("action", "int64", (), Discrete(3)),)))
        >>> mask.sample(np.array([0, 0, 1], np.int8), np.random.default_rng(0))
        array(2)
        """
        legal = self._legal(shown != 0)
        chosen = [each[rng.integers(len(each))] + self.least for each in legal]
        return np.asarray(chosen, self.action.numpy_dtype).reshape(self.action.shape)

    def wanted(self, allowed: npt.NDArray[np.bool_]) -> str:
        """The text that names the choices which one row, (n,), allows."""
        legal = [(each + self.least).tolist() for each in self._legal(allowed)]
        words = brief(legal[0]) if len(legal) == 1 else " and ".join(map(brief, legal))
        return f"one of {words}, which {ACTION_MASK!r} allows"

    def _parts(self, allowed: Allowed) -> Sequence[Allowed]:
        """The columns of each element."""
        return np.split(allowed, self._firsts[1:], axis=-1)

    def _legal(self, allowed: npt.NDArray[np.bool_]) -> Sequence[npt.NDArray[np.intp]]:
        return [part.nonzero()[0] for part in self._parts(allowed)]

    def _rows(self, chosen: npt.NDArray[np.intp]) -> Array:
        return chosen.astype(self.action.numpy_dtype).reshape(-1, *self.action.shape)


def _is_binary(tensor: TensorSpec) -> bool:
    if tensor.dtype not in ("bool", "int8", "uint8"):
        return False
    if tensor.limits is None:  # all that the dtype holds
        return tensor.dtype == "bool"
    low, high = tensor.limits
    return bool((low >= 0).all() and (high <= 1).all())

"""Calls a policy, and checks and names what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from reglue.errors import BadArgument
from reglue.rollouts.rollout import FIRST_FRAME
from reglue.rollouts.vector_env_stream import named
from reglue.spec import Array

Policy: TypeAlias = Callable[[Any], Any]
"""Maps observations, (env, …), to actions, (env, …), or to actions and more:

- `actions, {"value": …}`: a pair of the actions and a dict of arrays, or None for no more;
- a dict, or a named tuple, with the entry `action`.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a policy for one observation of each environment."""

    actions: Any  # for the environment
    arrays: dict[str, Array]  # (env, …), by name: `action`, and what else it returned


class CheckedPolicy:
    """A policy for `num_envs` environments. Raises BadArgument for a return value that does not
    fit.

    Args:
        function: see Policy.
        action_space: the vector environment's.
    """

    def __init__(self, function: Policy, num_envs: int, action_space: Any) -> None:
        if not callable(function):
            raise BadArgument(got=f"{function!r} as policy", wanted="a function of observations")
        self._function = function
        self._num_envs = num_envs
        self._is_composite = action_space.shape is None or action_space.dtype is None
        self._shape, self._dtype = action_space.shape, action_space.dtype
        self._names: set[str] | None = None  # of the first answer's arrays

    def __call__(self, observation: Any) -> Answer:
        """Call the policy. Arrays that need no cast are returned without a copy."""
        actions, more = _parts(self._function(observation))
        if self._is_composite:  # a Dict or a Tuple, which the environment itself checks
            arrays = named(actions, "action")
        else:
            if isinstance(actions, Mapping):
                raise BadArgument(
                    f"the policy returned a dict of {list(actions)}, wanted an entry 'action' in it"
                )
            actions = self._cast(_array("action", actions))
            arrays = {"action": actions}
        for name, value in more.items():
            if name in FIRST_FRAME or name.split("/")[0] in {"observation", "action"}:
                raise BadArgument(f"the policy returned {name!r}, which is a name of the rollout's")
            arrays[name] = _array(name, value)
        for name, array in arrays.items():
            if array.shape[:1] != (self._num_envs,):
                raise BadArgument(
                    f"the policy returned {name} of shape {array.shape}, wanted "
                    f"({self._num_envs}, …): a row for each environment"
                )
        self._names = self._names or set(arrays)
        if self._names != set(arrays):
            raise BadArgument(
                f"the policy returned {sorted(arrays)}, wanted {sorted(self._names)} as before"
            )
        return Answer(actions, arrays)

    def _cast(self, actions: Array) -> Array:
        """The actions in the action space's dtype; their shape must be the space's."""
        if actions.shape != self._shape:
            raise BadArgument(
                f"the policy returned actions of shape {actions.shape}, wanted {self._shape}"
            )
        if not np.can_cast(actions.dtype, self._dtype, "same_kind"):
            raise BadArgument(
                f"the policy returned actions of dtype {actions.dtype}, wanted {self._dtype}"
            )
        return actions.astype(self._dtype, copy=False)


def _parts(answer: Any) -> tuple[Any, Mapping[str, Any]]:
    """The actions, and the dict of other arrays."""
    answer = _as_dict(answer)
    if isinstance(answer, Mapping) and "action" in answer:
        return answer["action"], {name: a for name, a in answer.items() if name != "action"}
    if not isinstance(answer, tuple):
        return answer, {}
    more = _as_dict(answer[-1])
    if len(answer) == 2 and (more is None or isinstance(more, Mapping)):
        return answer[0], more or {}
    kinds = ", ".join(type(each).__name__ for each in answer)
    raise BadArgument(
        f"the policy returned a tuple of ({kinds}), wanted actions, or a pair of actions and a "
        "dict of named arrays"
    )


def _as_dict(answer: Any) -> Any:
    """A named tuple as a dict; anything else as it is."""
    return answer._asdict() if hasattr(answer, "_asdict") else answer


def _array(name: str, value: Any) -> Array:
    """The value as an array; NumPy arrays and PyTorch's tensors on the CPU are not copied."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # gradients, other devices, ragged
        raise BadArgument(f"the policy's {name} cannot be read as an array: {error}") from error
    if array.dtype.kind not in "biufc":
        raise BadArgument(
            f"the policy returned {name} as {array.dtype}, wanted an array of numbers"
        )
    return array

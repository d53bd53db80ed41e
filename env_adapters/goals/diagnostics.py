"""Statistics of rollouts to log, named as in multiworld.

A rollout is a dict. `env_infos` holds the infos of its T steps, in order, or an array (T, …)
for each name; `observations` holds dicts of arrays, or arrays; `rewards` are (T,) or (T, 1),
`actions` (T, …).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

from reglue.errors import BadArgument
from reglue.spec import Array

Rollout: TypeAlias = Mapping[str, Any]

_STATE, _GOAL = "state_observation", "state_desired_goal"


def get_diagnostics(
    rollouts: Sequence[Rollout], names: Sequence[str], prefix: str = ""
) -> OrderedDict[str, Any]:
    """For each name in the infos: statistics over all steps, then `Final …` over last steps.

    `prefix` comes before each name: `<prefix><name> Mean`, `Final <prefix><name> Mean`.
    Raises UsageError if an info lacks the name.
    """
    diagnostics: OrderedDict[str, Any] = OrderedDict()
    for name in names:
        values = _values(rollouts, name)
        diagnostics.update(statistics(f"{prefix}{name}", values, of_one=True))
        diagnostics.update(statistics(f"Final {prefix}{name}", _at(values, -1), of_one=True))
    return diagnostics


def get_generic_path_information(
    paths: Sequence[Rollout], stat_prefix: str = ""
) -> OrderedDict[str, Any]:
    """Statistics of all rewards, returns and actions of rollouts, and `Num Paths`.

    They are named `<stat_prefix> Rewards Mean` and so on, with the space even after an empty
    prefix, as in multiworld; `Num Paths` has no prefix. Raises UsageError if a rollout lacks
    rewards or actions.
    """
    rewards, actions = (_numbers(paths, name) for name in ("rewards", "actions"))
    named = {
        "Rewards": np.concatenate(rewards) if rewards else [],
        "Returns": [sum(each) for each in rewards],
        "Actions": np.concatenate(actions) if actions else [],
    }
    diagnostics: OrderedDict[str, Any] = OrderedDict()
    for name, values in named.items():
        diagnostics.update(statistics(f"{stat_prefix} {name}", values, of_one=True))
    diagnostics["Num Paths"] = len(paths)
    return diagnostics


def goal_conditioned_diagnostics(
    rollouts: Sequence[Rollout], names: Sequence[str]
) -> OrderedDict[str, Any]:
    """For each name in the infos: statistics over all steps, the last and the first."""
    diagnostics: OrderedDict[str, Any] = OrderedDict()
    for name in names:
        values = _values(rollouts, name)
        diagnostics.update(statistics(name, values, of_one=True))
        for when, step in (("final", -1), ("initial", 0)):
            of_steps = _at(values, step)
            diagnostics.update(statistics(f"{name}/{when}", of_steps, of_one=True, min_max=False))
    return diagnostics


def get_contextual_diagnostics(
    rollouts: Sequence[Rollout], contexts: Sequence[Mapping[str, Any]]
) -> OrderedDict[str, Any]:
    """Distances of each rollout's states to its context's goal, at the end and at all steps.

    Raises UsageError if a rollout has no context, or a state or goal is missing.
    """
    if len(rollouts) != len(contexts):
        raise BadArgument(
            got=f"{len(contexts)} contexts", wanted=f"one for each of {len(rollouts)}"
        )
    pairs = zip(rollouts, contexts, strict=True)
    distances = [_distances(rollout, context) for rollout, context in pairs]
    diagnostics = statistics(f"{_GOAL}/final/distance", _at(distances, -1))
    at_all = [distance for of_one in distances for distance in of_one]
    diagnostics.update(statistics(f"{_GOAL}/distance", at_all))
    return diagnostics


def statistics(
    name: str, data: Any, *, of_one: bool = False, min_max: bool = True
) -> OrderedDict[str, Any]:
    """`<name> Mean`, `Std` (ddof 0), `Max` and `Min` of numbers, arrays or lists of them.

    A number is returned as it is, and so is an array of one element unless `of_one`. Empty data
    have no statistics. The entries of a tuple are named `<name>_0` and so on.
    """
    if isinstance(data, Number):
        return OrderedDict({name: data})
    if isinstance(data, tuple):
        each = (statistics(f"{name}_{place}", entry) for place, entry in enumerate(data))
        return OrderedDict(item for diagnostics in each for item in diagnostics.items())
    if isinstance(data, list) and data and np.ndim(data[0]):
        data = np.concatenate(data)
    if np.size(data) == 0:
        return OrderedDict()
    if isinstance(data, np.ndarray) and data.size == 1 and not of_one:
        return OrderedDict({name: float(data.item())})
    diagnostics = OrderedDict({f"{name} Mean": np.mean(data), f"{name} Std": np.std(data)})
    if min_max:
        diagnostics.update({f"{name} Max": np.max(data), f"{name} Min": np.min(data)})
    return diagnostics


def _distances(rollout: Rollout, context: Mapping[str, Any]) -> list[Any]:
    """The distance of each step's state to the context's goal."""
    try:
        return [np.linalg.norm(seen[_STATE] - context[_GOAL]) for seen in rollout["observations"]]
    except KeyError as error:
        wanted = f"observations with {_STATE}, and a context with {_GOAL}"
        raise BadArgument(got=f"a rollout without {error}", wanted=wanted) from error


def _values(rollouts: Sequence[Rollout], name: str) -> list[Array]:
    """The values of `name` at each rollout's steps."""
    wanted = f"env_infos with {name}"
    try:
        infos_of_rollouts = [each["env_infos"] for each in rollouts]
        return [
            _column(infos[name] if isinstance(infos, Mapping) else [info[name] for info in infos])
            for infos in infos_of_rollouts
        ]
    except KeyError as error:
        raise BadArgument(got=f"a rollout without {error}", wanted=wanted) from error
    except TypeError as error:
        raise BadArgument(
            got=(
                "a rollout whose env_infos are neither a list of dicts nor a dict of "
                f"arrays ({error})"
            ),
            wanted=wanted,
        ) from error


def _column(values: Any) -> Array:
    """One value for each step. Raises TypeError unless they are numbers."""
    column = np.asarray(values)
    if column.dtype.kind not in "biuf" or not column.ndim:
        raise TypeError(f"{values!r} is not a list of numbers")
    return column


def _numbers(rollouts: Sequence[Rollout], name: str) -> list[Array]:
    """All numbers of each rollout under this name, as a vector."""
    try:
        return [np.asarray(each[name], np.float64).ravel() for each in rollouts]
    except KeyError as error:
        raise BadArgument(got=f"a rollout without {error}", wanted=f"its {name}") from error


def _at(values: Sequence[Any], step: int) -> list[Any]:
    """The value at `step` of each rollout that has steps."""
    return [each[step] for each in values if len(each)]

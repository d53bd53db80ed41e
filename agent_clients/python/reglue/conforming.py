"""What an environment answers, in its TaskSpec's names, shapes and dtypes.

All raise NotAnEnvironment for what does not fit; the message says got and wanted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from reglue.errors import NotAnEnvironment
from reglue.spec import Array, TaskSpec
from reglue.worlds import Step


def conforming_spec(spec: object) -> TaskSpec:
    """The TaskSpec that it is to be."""
    if not isinstance(spec, TaskSpec):
        raise NotAnEnvironment(f"the environment's spec: got {spec!r}, wanted a reglue.TaskSpec")
    return spec


def conforming_step(step: object, spec: TaskSpec) -> Step:
    """One world's step: Python's own numbers, and copies of the observation."""
    if not isinstance(step, Step):
        raise NotAnEnvironment(
            f"step() returned {step!r}, wanted "
            "reglue.Step(reward, observation, terminated, truncated, success)"
        )
    try:
        is_number = math.isfinite(step.reward)
    except (TypeError, OverflowError):
        is_number = False
    if not is_number:
        raise NotAnEnvironment(f"got reward {step.reward!r}, wanted a finite number")
    return Step(
        float(step.reward),
        conforming_observation(step.observation, spec),
        bool(step.terminated),
        bool(step.truncated),
        bool(step.success),
    )


def conforming_observation(
    observation: object, spec: TaskSpec, rows: tuple[int, ...] = ()
) -> dict[str, Array]:
    """Copies, name -> (*rows, *shape). Names that the spec lacks are left out."""
    if not isinstance(observation, Mapping):
        wanted = f"a dict of named arrays: {[tensor.name for tensor in spec.observations]}"
        raise NotAnEnvironment(f"observation: got {observation!r}, wanted {wanted}")
    arrays = {}
    for tensor in spec.observations:
        if tensor.name not in observation:
            raise NotAnEnvironment(
                f"observation: got names {sorted(map(str, observation))}, wanted {tensor.name!r}"
            )
        what = f"observation {tensor.name!r}"
        value = conforming_array(what, observation[tensor.name], tensor.dtype)
        if value.shape != (*rows, *tensor.shape):
            wanted = f"{(*rows, *tensor.shape)}"
            raise NotAnEnvironment(f"{what}: got shape {value.shape}, wanted {wanted}")
        arrays[tensor.name] = value
    return arrays


def conforming_array(what: str, value: object, dtype: str) -> Array:
    """A copy in `dtype`. Whole numbers must stay what they are, as in an agent's actions."""
    try:
        given = np.array(value)
    except ValueError:  # rows of different lengths
        raise NotAnEnvironment(f"{what}: got {value!r}, wanted an array of {dtype}") from None
    if given.dtype == dtype:
        return given
    if given.dtype.kind in "biuf":
        with np.errstate(over="ignore", invalid="ignore"):
            cast = given.astype(dtype)
        if cast.dtype.kind == "f" or np.array_equal(cast, given):
            return cast
    raise NotAnEnvironment(
        f"{what}: got {given} of dtype {given.dtype}, wanted numbers that are the same in {dtype}"
    )

"""Checks an environment's answers against the names, shapes and dtypes of its TaskSpec.

All raise NotAnEnvironment, with what they got and wanted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from reglue.environments.world import Step
from reglue.errors import NotAnEnvironment
from reglue.spec import Array, TaskSpec, TensorSpec, same_numbers


def conforming_spec(spec: object) -> TaskSpec:
    """`spec`, if it is a TaskSpec."""
    if not isinstance(spec, TaskSpec):
        raise NotAnEnvironment(f"the environment's spec: got {spec!r}, wanted a reglue.TaskSpec")
    return spec


def conforming_step(step: object) -> Step:
    """One world's step, whose reward is finite; the observation is checked elsewhere."""
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
    return step


def conforming_observation(
    observation: object, spec: TaskSpec, rows: tuple[int, ...]
) -> dict[str, Array]:
    """Copies, name -> (*rows, *shape), without names that the spec lacks."""
    named = conforming_names(observation, spec)
    return {
        tensor.name: np.array(conforming_rows(named, tensor, rows)) for tensor in spec.observations
    }


def conforming_names(observation: object, spec: TaskSpec) -> Mapping[str, Any]:
    """`observation`, if it is a dict with all names of the spec."""
    if not isinstance(observation, Mapping):
        wanted = f"a dict of named arrays: {[tensor.name for tensor in spec.observations]}"
        raise NotAnEnvironment(f"observation: got {observation!r}, wanted {wanted}")
    for tensor in spec.observations:
        if tensor.name not in observation:
            raise NotAnEnvironment(
                f"observation: got names {sorted(map(str, observation))}, wanted {tensor.name!r}"
            )
    return observation


def conforming_row(observation: object, tensor: TensorSpec, spec: TaskSpec) -> Array:
    """One tensor of one world's observation, `shape`; it may be the world's own array."""
    if type(observation) is dict:  # the common case, checked once
        value = observation.get(tensor.name)
        if (
            type(value) is np.ndarray
            and value.dtype == tensor.numpy_dtype
            and value.shape == tensor.shape
        ):
            return value
    return conforming_rows(conforming_names(observation, spec), tensor)


def conforming_rows(
    named: Mapping[str, Any], tensor: TensorSpec, rows: tuple[int, ...] = ()
) -> Array:
    """One tensor of an observation, (*rows, *shape); it may be the environment's own array."""
    what, shape = f"observation {tensor.name!r}", (*rows, *tensor.shape)
    value = conforming_array(what, named[tensor.name], tensor.numpy_dtype)
    if value.shape != shape:
        raise NotAnEnvironment(f"{what}: got shape {value.shape}, wanted {shape}")
    return value


def conforming_array(what: str, value: Any, dtype: np.dtype[Any]) -> Array:
    """`value` in `dtype`, which no integer may change."""
    try:
        given = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise NotAnEnvironment(f"{what}: got {value!r}, wanted an array of {dtype}") from None
    cast = same_numbers(given, dtype)
    if cast is not None:
        return cast
    raise NotAnEnvironment(
        f"{what}: got {given} of dtype {given.dtype}, wanted numbers that are the same in {dtype}"
    )

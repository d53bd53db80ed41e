"""TaskSpec to and from `spec.proto`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from google.protobuf.message import DecodeError

from reglue.errors import SpecError
from reglue.spec import (
    DTYPES,
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)
from reglue.v1 import spec_pb2 as pb

MOST_ELEMENTS = 64 * 1024 * 1024
"""Of one row of a tensor: at a byte each, what a hub's largest message holds."""

_MOST_AXES = 63  # NumPy's 64, less the one of slots


def encode_spec(spec: TaskSpec) -> pb.TaskSpec:
    """The message of a spec."""
    return pb.TaskSpec(
        observations=[_encode_tensor(tensor) for tensor in spec.observations],
        actions=[_encode_tensor(tensor) for tensor in spec.actions],
        reward_low=spec.reward_range[0],
        reward_high=spec.reward_range[1],
        discount=spec.discount,
        horizon=spec.horizon,
        continuing=spec.continuing,
        rewards_in_evaluation=spec.rewards_in_evaluation,
        slots=spec.slots,
    )


def decode_spec(message: pb.TaskSpec) -> TaskSpec:
    """The spec of a message. Raises SpecError where it contradicts itself."""
    return TaskSpec(
        observations=tuple(_decode_tensor(tensor) for tensor in message.observations),
        actions=tuple(_decode_tensor(tensor) for tensor in message.actions),
        reward_range=(message.reward_low, message.reward_high),
        discount=message.discount,
        horizon=message.horizon,
        continuing=message.continuing,
        rewards_in_evaluation=message.rewards_in_evaluation,
        slots=message.slots,
    )


def spec_to_bytes(spec: TaskSpec) -> bytes:
    """The serialised message."""
    return encode_spec(spec).SerializeToString()


def spec_from_bytes(message: bytes) -> TaskSpec:
    """The spec of a serialised message. Raises SpecError."""
    try:
        return decode_spec(pb.TaskSpec.FromString(message))
    except DecodeError as error:
        raise SpecError("these bytes are no TaskSpec") from error


def _encode_tensor(tensor: TensorSpec) -> pb.TensorSpec:
    message = pb.TensorSpec(
        name=tensor.name,
        dtype=f"DTYPE_{tensor.dtype.upper()}",
        shape=tensor.shape,
    )
    match tensor.domain:
        case Box(low, high):
            message.box.CopyFrom(pb.Box(low=low, high=high))
        case Discrete(n, start):
            message.discrete.CopyFrom(pb.Discrete(n=n, start=start))
        case MultiDiscrete(n):
            message.multi_discrete.CopyFrom(pb.MultiDiscrete(n=n))
        case MultiBinary():
            message.multi_binary.CopyFrom(pb.MultiBinary())
    return message


def _decode_tensor(message: pb.TensorSpec) -> TensorSpec:
    if not 1 <= message.dtype <= len(DTYPES):
        raise SpecError(f"{message.name}: got dtype {message.dtype}, wanted one of {DTYPES}")
    _check_shape(message.name, message.shape)
    dtype = pb.Dtype.Name(message.dtype).removeprefix("DTYPE_").lower()
    return TensorSpec(message.name, dtype, tuple(message.shape), _decode_domain(message))


def _check_shape(name: str, shape: Sequence[int]) -> None:
    """Raise SpecError before anything of that size is made."""
    elements = math.prod(size or 1 for size in shape)  # NumPy refuses huge empty ones as well
    if elements > MOST_ELEMENTS or len(shape) > _MOST_AXES:
        raise SpecError(
            f"{name}: got shape {list(shape[:_MOST_AXES])}, "
            f"wanted at most {_MOST_AXES} axes and {MOST_ELEMENTS} elements"
        )


def _decode_domain(message: pb.TensorSpec) -> Domain:
    match message.WhichOneof("domain"):
        case "box":
            return Box(tuple(message.box.low), tuple(message.box.high))
        case "discrete":
            return Discrete(message.discrete.n, message.discrete.start)
        case "multi_discrete":
            return MultiDiscrete(tuple(message.multi_discrete.n))
        case "multi_binary":
            return MultiBinary()
        case _:
            raise SpecError(f"{message.name}: no domain")

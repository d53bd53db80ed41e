"""Converts a TaskSpec from and to `spec.proto`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from google.protobuf.message import DecodeError

from reglue.errors import SpecError
from reglue.spec import (
    DTYPES,
    MOST_TENSORS,
    Box,
    Discrete,
    Domain,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
    check_row,
)
from reglue.v1 import spec_pb2 as pb


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
        extra=spec.extra,
    )


def decode_spec(message: pb.TaskSpec) -> TaskSpec:
    """The spec of a message. Raises SpecError if it contradicts itself."""
    return TaskSpec(
        observations=_decode_tensors("observations", message.observations),
        actions=_decode_tensors("actions", message.actions),
        reward_range=(message.reward_low, message.reward_high),
        discount=message.discount,
        horizon=message.horizon,
        continuing=message.continuing,
        rewards_in_evaluation=message.rewards_in_evaluation,
        slots=message.slots,
        extra=message.extra,
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


def _decode_tensors(what: str, messages: Sequence[pb.TensorSpec]) -> tuple[TensorSpec, ...]:
    if len(messages) > MOST_TENSORS:
        raise SpecError(got=f"{len(messages)} {what}", wanted=f"at most {MOST_TENSORS}")
    return tuple(_decode_tensor(message) for message in messages)


def _decode_tensor(message: pb.TensorSpec) -> TensorSpec:
    check_row(message.name, message.shape)  # before copying from the message
    if not 1 <= message.dtype <= len(DTYPES):
        raise SpecError(message.name, got=f"dtype {message.dtype}", wanted=f"one of {DTYPES}")
    dtype = pb.Dtype.Name(message.dtype).removeprefix("DTYPE_").lower()
    return TensorSpec(message.name, dtype, tuple(message.shape), _decode_domain(message))


def _check_count(message: pb.TensorSpec, count: int) -> None:
    """Raise SpecError for more entries than elements: TensorSpec looks at what was copied."""
    most = max(1, math.prod(message.shape))
    if count > most:
        raise SpecError(f"{message.name}: its domain has {count} entries, wanted at most {most}")


def _decode_domain(message: pb.TensorSpec) -> Domain:
    match message.WhichOneof("domain"):
        case "box":
            low, high = message.box.low, message.box.high
            _check_count(message, max(len(low), len(high)))
            return Box(tuple(low), tuple(high))
        case "discrete":
            return Discrete(message.discrete.n, message.discrete.start)
        case "multi_discrete":
            _check_count(message, len(message.multi_discrete.n))
            return MultiDiscrete(tuple(message.multi_discrete.n))
        case "multi_binary":
            return MultiBinary()
        case _:
            raise SpecError(f"{message.name}: no domain")

"""Converts specs and tensors from and to messages of dm_env_rpc. Source: dm_env_rpc 1.1.7.

The sizes in a message are checked before memory is allocated for them.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from reglue.error_message import brief
from reglue.errors import BadArgument, BadReply, MissingExtra, UsageError
from reglue.net import grpc_settings  # before dm_env_rpc loads grpc
from reglue.spec import Array, Box, Discrete, Domain, TensorSpec, check_row
from reglue.texts import Text

try:
    from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
    from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_utils
    from google.rpc import status_pb2
except ModuleNotFoundError as error:
    raise MissingExtra("dm_env_rpc", "dm-env-rpc", f"the package {error.name}") from error

grpc = grpc_settings.grpc

REWARD, DISCOUNT = "reward", "discount"
"""The names of the observations that hold them, as in dm_env_rpc's own adaptor."""

MESSAGE_BYTES = [
    ("grpc.max_send_message_length", grpc_settings.HUB_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", grpc_settings.HUB_MESSAGE_BYTES),
]
"""gRPC options of clients and servers."""

_FIELDS = {
    "float32": (pb.DataType.FLOAT, "floats"),
    "float64": (pb.DataType.DOUBLE, "doubles"),
    "int8": (pb.DataType.INT8, "int8s"),
    "int32": (pb.DataType.INT32, "int32s"),
    "int64": (pb.DataType.INT64, "int64s"),
    "uint8": (pb.DataType.UINT8, "uint8s"),
    "uint32": (pb.DataType.UINT32, "uint32s"),
    "uint64": (pb.DataType.UINT64, "uint64s"),
    "bool": (pb.DataType.BOOL, "bools"),
}
_DTYPES = {number: dtype for dtype, (number, _) in _FIELDS.items()}
_NAMES = {number: name for name, number in pb.DataType.items()}
_WIDER = {"int16": "int32", "uint16": "uint32"}  # for dtypes that dm_env_rpc lacks
_MOST_CHOICES = 2**31  # of a Discrete


class WireTensor:
    """Converts a tensor of numbers, by its TensorSpec, from and to messages of dm_env_rpc."""

    def __init__(self, uid: int, spec: TensorSpec) -> None:
        self.uid, self.spec = uid, spec
        self._dtype = np.dtype(_WIDER.get(spec.dtype, spec.dtype))
        self._number, self._field = _FIELDS[self._dtype.name]
        self._is_bytes = self._dtype.itemsize == 1 and self._dtype.kind != "b"

    @classmethod
    def of(cls, kind: str, uid: int, message: Any) -> WireTensor:
        """Read a TensorSpec message of dm_env_rpc; `kind` is observation or action.

        Raises UsageError for strings, protos and shapes whose size is not fixed.
        """
        what, shape = f"the {kind} {brief(message.name)}", tuple(message.shape)
        dtype = _DTYPES.get(message.dtype)
        if dtype is None:
            got = _NAMES.get(message.dtype, f"data type {message.dtype}")
            raise UsageError(what, got=got, wanted="numbers, booleans or a string")
        if any(size < 0 for size in shape):
            got = f"the shape {brief(list(shape))}"
            raise UsageError(what, got=got, wanted="a fixed size on each axis, without -1")
        check_row(message.name, shape)
        size = int(np.prod(shape, dtype=np.int64))
        low, high = (_bound(what, each, dtype, size) for each in (message.min, message.max))
        return cls(uid, TensorSpec(message.name, dtype, shape, _domain(dtype, shape, low, high)))

    def spec_message(self) -> Any:
        """The spec as a TensorSpec message of dm_env_rpc."""
        spec = pb.TensorSpec(name=self.spec.name, shape=self.spec.shape, dtype=self._number)
        if self.spec.limits is not None and self._dtype.kind != "b":
            for value, limit in zip((spec.min, spec.max), self.spec.limits, strict=True):
                if np.isfinite(limit).any():
                    self._fill(value, limit)
        return spec

    @property
    def default(self) -> Array:
        """Zeros, or the legal values nearest to them."""
        zeros = np.zeros(self.spec.shape, self.spec.numpy_dtype)
        return zeros if self.spec.limits is None else np.clip(zeros, *self.spec.limits)

    def write(self, message: Any, value: Array) -> None:
        """Write a value of the tensor's shape to an empty Tensor message."""
        message.shape.extend(value.shape)
        self._fill(message, value)

    def read(self, message: Any) -> Array:
        """The value of a Tensor message, in the tensor's shape and dtype.

        A message with one number stands for an array of it. One axis of its shape may be -1.
        Raises BadReply.
        """
        spec, shape = self.spec, tuple(message.shape)
        field = message.WhichOneof("payload")
        if field != self._field:
            got = f"{spec.name!r} as {field or 'nothing'}"
            raise BadReply("WRONG_KIND", got=got, wanted=self._field)
        is_alike = shape == spec.shape or (
            len(shape) == len(spec.shape)
            and shape.count(-1) == 1
            and all(got in (-1, wanted) for got, wanted in zip(shape, spec.shape, strict=True))
        )
        array = getattr(message, field).array
        count = len(array)
        if not is_alike or count not in (1, spec.size):
            got = f"{spec.name!r} of shape {brief(list(shape))} with {count} numbers"
            raise BadReply("WRONG_SIZE", got=got, wanted=f"shape {list(spec.shape)}")
        values = _numbers(array, self._dtype)
        if count == spec.size:
            return values.reshape(spec.shape)
        return np.broadcast_to(values, spec.shape)

    def _fill(self, message: Any, value: Array) -> None:
        payload = getattr(message, self._field)
        flat = np.asarray(value, self._dtype)
        if self._is_bytes:
            payload.array = flat.tobytes()
        else:
            payload.array.extend(flat.ravel().tolist())


class WireText:
    """Converts a string, by its Text, from and to messages of dm_env_rpc, which have no lengths."""

    def __init__(self, uid: int, spec: Text) -> None:
        self.uid, self.spec = uid, spec

    @classmethod
    def of(cls, kind: str, uid: int, message: Any, most: int) -> WireText:
        """Read a string's TensorSpec message of dm_env_rpc, of at most `most` characters.

        Raises UsageError for an array of strings.
        """
        if message.shape:
            got = f"STRING of shape {brief(list(message.shape))}"
            raise UsageError(f"the {kind} {brief(message.name)}", got=got, wanted="one string: []")
        return cls(uid, Text(message.name, most))

    def spec_message(self) -> Any:
        """The spec as a TensorSpec message of dm_env_rpc."""
        return pb.TensorSpec(name=self.spec.name, dtype=pb.DataType.STRING)

    @property
    def default(self) -> Array:
        """A shortest text."""
        return self.spec.shortest

    def write(self, message: Any, value: Array) -> None:
        """Fill an empty Tensor of dm_env_rpc. Raises IllegalAction for bytes that are no text."""
        message.strings.array.append(self.spec.decode(value))

    def read(self, message: Any) -> Array:
        """The row of a Tensor of dm_env_rpc. Raises BadReply."""
        name, field = self.spec.name, message.WhichOneof("payload")
        if field != "strings":
            raise BadReply("WRONG_KIND", got=f"{name!r} as {field or 'nothing'}", wanted="strings")
        texts = message.strings.array
        if message.shape or len(texts) != 1:
            shape = brief(list(message.shape))
            got = f"{name!r} of shape {shape} with {len(texts)} strings"
            raise BadReply("WRONG_SIZE", got=got, wanted="shape [] with one")
        try:
            return self.spec.encode(texts[0])
        except BadArgument as error:
            got = f"{name!r} of {len(texts[0])} characters, {error.got}"
            raise BadReply("OUT_OF_DOMAIN", got=got, wanted=error.wanted) from None


Wire: TypeAlias = WireTensor | WireText


def wire_of(kind: str, uid: int, message: Any, most_characters: int) -> Wire:
    """Read a TensorSpec message of dm_env_rpc. Raises UsageError."""
    if message.dtype == pb.DataType.STRING:
        return WireText.of(kind, uid, message, most_characters)
    return WireTensor.of(kind, uid, message)


def settings_of(what: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as Tensor messages, by name.

    Raises BadArgument for a value that cannot be a tensor; its message begins with `what`.
    """
    given: object = values
    if not isinstance(given, Mapping):
        raise BadArgument(what, got=brief(given), wanted="a mapping from names to values")
    settings = {}
    for name, value in values.items():
        try:
            settings[name] = tensor_utils.pack_tensor(value)
        except (TypeError, ValueError):
            wanted = "a number, a text, true or false, or a list of one of these"
            raise BadArgument(f"{what} {name!r}", got=brief(value), wanted=wanted) from None
    return settings


def setting_value(name: str, message: Any) -> int:
    """The integer in a setting's Tensor message. Raises BadArgument."""
    field = message.WhichOneof("payload")
    values: Sequence[Any] = getattr(message, field).array if field else ()
    is_one = len(values) == 1 and isinstance(values[0], numbers.Integral)
    if not is_one or isinstance(values[0], bool) or values[0] < 0:
        raise BadArgument(f"the setting {name!r}", got=field or "nothing", wanted="one integer ≥ 0")
    return int(values[0])


def _bound(what: str, message: Any, dtype: str, size: int) -> Array | None:
    """The numbers of a bound: one for all elements, or `size` of them; None if there is no bound.

    Raises UsageError.
    """
    field = message.WhichOneof("payload")
    if field is None:
        return None
    array = getattr(message, field).array
    if field != _FIELDS[dtype][1] or len(array) not in (1, size):
        got = f"a bound of {len(array)} {field}"
        raise UsageError(what, got=got, wanted=f"1 or {size} {_FIELDS[dtype][1]}")
    bound = _numbers(array, np.dtype(dtype))
    if np.isnan(bound).any():
        raise UsageError(what, got="a bound of nan", wanted="finite numbers or infinities")
    return bound


def _domain(dtype: str, shape: Sequence[int], low: Array | None, high: Array | None) -> Domain:
    if low is not None and high is not None and not shape and np.dtype(dtype).kind in "iu":
        start, count = int(low[0]), int(high[0]) - int(low[0]) + 1
        if 1 <= count <= _MOST_CHOICES:
            return Discrete(count, start)
    return Box(*(() if each is None else tuple(each.tolist()) for each in (low, high)))


def _numbers(array: Any, dtype: np.dtype[Any]) -> Array:
    if isinstance(array, bytes):
        return np.frombuffer(array, dtype)
    return np.fromiter(array, dtype, len(array))


__all__ = [
    "DISCOUNT",
    "MESSAGE_BYTES",
    "REWARD",
    "Wire",
    "WireTensor",
    "WireText",
    "dm_env_rpc_pb2_grpc",
    "grpc",
    "pb",
    "setting_value",
    "settings_of",
    "status_pb2",
    "wire_of",
]

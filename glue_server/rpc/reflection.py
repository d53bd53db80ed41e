"""gRPC's server reflection, by which tools such as grpcurl find services and messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reglue.errors import MissingExtra
from reglue.net.grpc_settings import grpc


def reflection_handler(services: Iterable[str]) -> Any:
    """Answers for these services, and for itself. Raises MissingExtra.

    A caller that holds its stream holds a thread of the joins: it is for development.
    """
    try:
        from grpc_reflection.v1alpha import reflection, reflection_pb2
    except ImportError as error:
        raise MissingExtra("--reflection", "reflection", "grpcio-reflection") from error
    servicer = reflection.ReflectionServicer([*services, reflection.SERVICE_NAME])
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(
        reflection.SERVICE_NAME, {"ServerReflectionInfo": method}
    )

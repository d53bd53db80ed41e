"""The glue over gRPC: the only place of the server that knows it."""

from glue_server.rpc.server import GlueServer

__all__ = ["GlueServer"]

"""The glue over gRPC: the only place of the server that knows it."""

import reglue.net.grpc_settings  # noqa: F401, I001 - first: grpc reads them when it is loaded

from glue_server.rpc.admission import PrivateLobby
from glue_server.rpc.server import GlueServer

__all__ = ["GlueServer", "PrivateLobby"]

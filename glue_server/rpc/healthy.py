"""`python -m glue_server.rpc.healthy HOST:PORT`: asks a glue whether it serves.

By the standard gRPC health service (`grpc.health.v1`), without TLS; for the health checks of
containers. Exit codes: 0 it serves, 1 it does not or nobody answers, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from grpc_health.v1 import health_pb2, health_pb2_grpc

from reglue.grpc_settings import grpc

PATIENCE_S = 3.0


def serves(address: str) -> bool:
    """Whether all of the glue at that address serves, by its own word."""
    with grpc.insecure_channel(address) as channel:
        service: Any = health_pb2_grpc.HealthStub(channel)  # whose types name no methods
        try:
            answer = service.Check(health_pb2.HealthCheckRequest(service=""), timeout=PATIENCE_S)
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m glue_server.rpc.healthy")
    parser.add_argument("address", metavar="HOST:PORT")
    sys.exit(not serves(parser.parse_args().address))

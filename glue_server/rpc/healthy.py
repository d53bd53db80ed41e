"""`python -m glue_server.rpc.healthy HOST:PORT`: asks a glue whether it serves.

It uses the standard gRPC health service (`grpc.health.v1`), with TLS if the glue speaks it, for
the health checks of containers. Nothing secret is sent, so any certificate is
trusted. Exit codes: 0 it serves, 1 it does not or does not answer, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import ssl
import sys
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from grpc_health.v1 import health_pb2, health_pb2_grpc

from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString, split_address
from reglue.net.lobby import open_channel

_TIMEOUT_S = 3.0


def serves(address: str) -> bool:
    """Whether the glue at that address says that it serves."""
    if _says_so(JoinString(address)):
        return True
    shown = _shown(address)
    return shown is not None and _says_so(shown)


def _says_so(where: JoinString) -> bool:
    with open_channel(where, HUB_MESSAGE_BYTES) as channel:
        service: Any = health_pb2_grpc.HealthStub(channel)  # whose types name no methods
        try:
            answer = service.Check(health_pb2.HealthCheckRequest(service=""), timeout=_TIMEOUT_S)
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _shown(address: str) -> JoinString | None:
    """A join string that trusts the certificate shown there; None if none is shown."""
    host, port = split_address(address)
    try:
        pem = ssl.get_server_certificate((host.strip("[]"), port), timeout=_TIMEOUT_S)
    except OSError:
        return None
    certificate = x509.load_pem_x509_certificate(pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    name = next(str(each.value) for each in names)
    return JoinString(address, "", certificate.public_bytes(Encoding.DER), name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m glue_server.rpc.healthy")
    parser.add_argument("address", metavar="HOST:PORT")
    sys.exit(not serves(parser.parse_args().address))

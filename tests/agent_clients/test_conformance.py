"""Agents, environments and benchmark programs in other languages keep the protocol's rules."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping

import pytest

from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE
from tests.agent_clients.client_programs import conformance_program, run

pytestmark = pytest.mark.timeout(900)  # the first test compiles clients

# The C library carries Julia's messages: C's programs show all of it over both transports.
JULIA_TRANSPORTS = {"agent": "grpc", "environment": "grpc", "experiment": "unix"}
PROGRAMS = [
    *(
        (language, role, transport)
        for language in ("c", "cpp", "typescript")
        for role in CHECKS
        for transport in ("grpc", "unix")
    ),
    *(("julia", role, transport) for role, transport in JULIA_TRANSPORTS.items()),
]


@pytest.mark.parametrize(("language", "role", "transport"), PROGRAMS)
def test_every_check_of_the_kit_passes(
    language: str, role: str, transport: str, libreglue: Mapping[str, str]
) -> None:
    command = shlex.join(conformance_program(language, role))
    kit = (sys.executable, "-m", "reglue", "conformance", role)
    report = run(*kit, "--cmd", command, "--transport", transport, environment=libreglue)
    left_out = OF_GRPC_ALONE if transport == "unix" else set()
    count = sum(check.name not in left_out for check in CHECKS[role])
    assert f"{count} of {count} checks passed" in report

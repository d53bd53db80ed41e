"""Agents, environments and benchmark programs in other languages keep the protocol's rules."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping

import pytest

from glue_server.conformance.check import Level
from glue_server.conformance.check_runner import checks_of
from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE
from tests.agent_clients.client_programs import conformance_program, run

pytestmark = pytest.mark.timeout(900)  # the first test compiles clients

# An environment's session is an agent's, so that one of them shows Unix sockets. The C library is
# C++'s and carries Julia's messages: C's programs show how both travel, reconnect and speak TLS.
PROGRAMS: list[tuple[str, str, str, Level]] = [
    *(
        (language, role, transport, "all")
        for language in ("c", "typescript")
        for role in CHECKS
        for transport in ("grpc", "unix")
        if (role, transport) != ("environment", "unix")
    ),
    *(("cpp", role, "grpc", "all") for role in CHECKS),
    *(("julia", role, "grpc", "core") for role in ("agent", "environment")),
    ("julia", "experiment", "unix", "core"),
]


@pytest.mark.parametrize(("language", "role", "transport", "level"), PROGRAMS)
def test_every_check_of_the_kit_passes(
    language: str, role: str, transport: str, level: Level, libreglue: Mapping[str, str]
) -> None:
    command = shlex.join(conformance_program(language, role))
    kit = (sys.executable, "-m", "reglue", "conformance", role)
    how = ("--transport", transport, "--level", level)
    report = run(*kit, "--cmd", command, *how, environment=libreglue)
    left_out = OF_GRPC_ALONE if transport == "unix" else set()
    count = sum(check.name not in left_out for check in checks_of(role, level=level))
    assert f"{count} of {count} checks passed" in report

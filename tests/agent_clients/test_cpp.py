"""The C++ client's agents, environments and benchmark programs keep the protocol's rules."""

from __future__ import annotations

import pytest

from glue_server.conformance.checks import CHECKS
from tests.agent_clients.programs import built, keeps_the_rules

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.mark.parametrize("transport", ["grpc", "unix"])
@pytest.mark.parametrize("role", CHECKS)
def test_a_program_in_cpp_keeps_the_rules(role: str, transport: str) -> None:
    program = built("cpp", f"conformance_{role}", f"conformance/conformance_{role}")
    keeps_the_rules(role, str(program), transport)

"""The C++ client's environments and benchmark programs keep the protocol's rules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE
from tests.agent_clients.programs import built

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.mark.parametrize("transport", ["grpc", "unix"])
@pytest.mark.parametrize("role", ["environment", "experiment"])
def test_a_program_in_cpp_keeps_the_rules(role: str, transport: str) -> None:
    program = built(f"conformance_{role}", f"conformance/conformance_{role}")
    kit = [sys.executable, "-m", "reglue", "conformance", role]
    done = subprocess.run(
        [*kit, "--cmd", str(program), "--transport", transport],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    left_out = OF_GRPC_ALONE if transport == "unix" else set()
    asked = [check for check in CHECKS[role] if check.name not in left_out]
    assert f"{len(asked)} of {len(asked)} checks passed" in done.stdout

"""Agents, environments and benchmark programs in other languages keep the protocol's rules."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from glue_server.conformance.check_runner import checks_of
from glue_server.conformance.checks import CHECKS, OF_GRPC_ALONE
from tests.agent_clients.client_programs import conformance_program, run

pytestmark = pytest.mark.timeout(900)  # the first test compiles clients

# What Julia's own code does: its messages are carried by C's library, which is C++'s. C's programs
# show how both join, reconnect, speak TLS, leave and take what is broken.
OWN = "agent.*,calls.*,environment.*,faults.*,refusals.*,routines.*,states.*,tensors.*,turns.*"
PROGRAMS = [
    *(
        (language, role, transport, "*")
        for language in ("c", "typescript")
        for role in CHECKS
        for transport in ("grpc", "unix")
        if (role, transport) != ("environment", "unix")  # its session is an agent's
    ),
    *(("cpp", role, "grpc", "*") for role in CHECKS),
    *(("julia", role, "grpc", OWN) for role in ("agent", "environment")),
    ("julia", "experiment", "unix", OWN),
]


@pytest.mark.parametrize(
    ("language", "role", "transport", "only"),
    PROGRAMS,
    ids=["-".join(each[:3]) for each in PROGRAMS],
)
def test_every_check_of_the_kit_passes(
    language: str,
    role: str,
    transport: str,
    only: str,
    libreglue: Mapping[str, str],
    tmp_path: Path,
) -> None:
    """The hello of each language's client names that language."""
    command = shlex.join(conformance_program(language, role))
    kit = (sys.executable, "-m", "reglue", "conformance", role)
    written = tmp_path / "checks.json"
    how = ("--transport", transport, "--only", only, "--json", str(written))
    report = run(*kit, "--cmd", command, *how, environment=libreglue)
    left_out = OF_GRPC_ALONE if transport == "unix" else set()
    count = sum(check.name not in left_out for check in checks_of(role, only))
    assert f"{count} of {count} checks passed" in report
    assert json.loads(written.read_text())["sdk"].startswith(f"reglue-{language} ")

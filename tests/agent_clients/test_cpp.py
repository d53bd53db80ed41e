"""The C++ client's agents, environments and benchmark programs keep the protocol's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from glue_server.conformance.checks import CHECKS
from tests.agent_clients.programs import built, keeps_the_rules
from tests.reglue.examples.evaluations import EVALUATIONS, plays_as_the_command

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.mark.parametrize("transport", ["grpc", "unix"])
@pytest.mark.parametrize("role", CHECKS)
def test_a_program_in_cpp_keeps_the_rules(role: str, transport: str) -> None:
    program = built("cpp", f"conformance_{role}", f"conformance/conformance_{role}")
    keeps_the_rules(role, str(program), transport)


@pytest.mark.parametrize("procedure", EVALUATIONS)
def test_metaworlds_evaluations_in_cpp_play_as_the_command_does(
    procedure: str, tmp_path: Path
) -> None:
    name = "metaworld_evaluation"
    program = built("cpp", name, f"examples/{name}/{name}")
    plays_as_the_command(procedure, tmp_path / "run", str(program))

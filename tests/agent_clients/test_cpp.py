"""The C++ client's agents, environments and benchmark programs keep the protocol's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_clients.client_programs import built
from tests.reglue.examples.evaluations import EVALUATIONS, plays_as_the_command

pytestmark = pytest.mark.timeout(600)  # the first test compiles the client


@pytest.mark.parametrize("procedure", EVALUATIONS)
def test_metaworlds_evaluations_in_cpp_play_as_the_command_does(
    procedure: str, tmp_path: Path
) -> None:
    name = "metaworld_evaluation"
    program = built("cpp", name, f"examples/{name}/{name}")
    plays_as_the_command(procedure, tmp_path, str(program))

"""Meta-World's evaluations as loops of a benchmark program: the episodes of `reglue bench`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reglue.examples.metaworld_evaluation import main
from tests.reglue.examples.evaluations import EVALUATIONS, plays_as_the_command

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("procedure", EVALUATIONS)
def test_a_loop_plays_the_goals_of_the_command_with_the_same_outcomes(
    procedure: str, tmp_path: Path
) -> None:
    module = "reglue.examples.metaworld_evaluation"
    plays_as_the_command(procedure, tmp_path, sys.executable, "-m", module)


@pytest.mark.parametrize("arguments", [[], ["single"], ["multi-task", "0"], ["multi-task", "x"]])
def test_the_program_says_how_it_is_called(arguments: list[str]) -> None:
    assert main(arguments) == 2

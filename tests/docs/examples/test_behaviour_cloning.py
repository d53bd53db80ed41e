"""Behaviour cloning from a recorded expert plays well above a random agent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from docs.examples.behaviour_cloning import main

pytestmark = pytest.mark.slow


def test_a_short_form_succeeds_where_a_random_agent_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten episodes of the expert; whole runs reach 1.00."""
    threads = torch.get_num_threads()
    try:
        main(["--episodes", "10", "--epochs", "60", "--out", str(tmp_path)])
    finally:
        torch.set_num_threads(threads)
    said = capsys.readouterr().out
    expert, chance, cloned = map(float, re.findall(r"\d\.\d\d(?=\D|$)", said))
    assert (expert, chance) == (1.0, 0.0)
    assert cloned >= 0.7

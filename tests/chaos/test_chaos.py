"""One try of each campaign; `make chaos` goes on for minutes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.campaigns import CAMPAIGNS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_run_that_is_disturbed_comes_to_the_same_rows(name: str, tmp_path: Path) -> None:
    CAMPAIGNS[name](random.Random(0), tmp_path)

"""Boards of equal teams call none better than another, except in 5 % of cases."""

from __future__ import annotations

import pytest

from interval_coverage.boards import BOARDS, false_ranks

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("name", BOARDS)
def test_equal_teams_share_the_first_rank(name: str, own: bool) -> None:
    """30 boards of 20 teams are good to 4 %; each pair by itself said so in nearly all."""
    cells, judged_by = BOARDS[name]
    found = false_ranks(cells, 20, judged_by=judged_by, own=own, boards=30, seed=0)
    assert found <= 0.1

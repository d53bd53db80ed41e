"""`reglue competition …` in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reglue_bench.conftest import Say, say

__all__ = ["Say", "say"]


@pytest.fixture
def folder(say: Say, tmp_path: Path) -> Path:
    """A new competition, in the folder `my-comp`."""
    made = tmp_path / "my-comp"
    done = say("competition", "init", str(made), "--title", "Treasures")
    assert done.returncode == 0, done.stderr
    return made

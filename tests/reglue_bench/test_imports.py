"""What a process loads that plays, and does nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import {}
print(*sys.modules)
"""


@pytest.mark.parametrize(
    "module", ["reglue_bench.engines.shard_process", "reglue_bench.placement.environment_process"]
)
def test_a_process_that_plays_loads_no_terminal_no_page_and_no_database(module: str) -> None:
    program = [sys.executable, "-c", PROGRAM.format(module)]
    loaded = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert module in loaded
    assert {"rich", "plotly", "jinja2", "sqlalchemy", "scipy"}.isdisjoint(loaded)

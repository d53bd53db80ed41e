"""What a process does not load that plays, and does nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

SPARED = {"rich", "plotly", "jinja2", "sqlalchemy", "scipy"}  # terminal, page, database


@pytest.mark.parametrize(
    ("module", "spared"),
    [
        ("reglue_bench.cli.bench", {"jinja2", "plotly", "sqlalchemy"}),
        ("reglue_bench.evaluation", SPARED - {"rich"}),
        ("reglue_bench.engines.shard_process", SPARED),
        ("reglue_bench.placement.environment_process", SPARED),
    ],
)
def test_a_process_that_plays_loads_nothing_that_it_does_not_need(
    module: str, spared: set[str]
) -> None:
    program = [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"]
    loaded = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert module in loaded
    assert spared.isdisjoint(loaded)

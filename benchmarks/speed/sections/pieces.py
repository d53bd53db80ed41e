"""What the pieces of a turn cost, for who changes one; no goal is set."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyperf

from speed.harness import Scale, Section, Series, Watch
from speed.program import run


def metric(scale: Scale, watch: Watch) -> Section:
    """By pyperf, in processes of its own; a sample is a process's mean."""
    watch("pieces of a turn")
    with tempfile.TemporaryDirectory(prefix="reglue-speed-") as folder:
        file = Path(folder, "pieces.json")
        options = ("--processes", str(scale.of(5, 1)), "--values", "3", "--warmups", "1")
        run(
            *("speed.contenders.pieces", "--output", str(file), "--quiet", *options),
            *("--inherit-environ", "PYTHONPATH"),
        )
        found = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    return Section(
        title="Pieces of a turn",
        about="Of the light environment, with 1 slot and with 32; reading and writing is between "
        "arrays and bytes, checks included. Measured by pyperf.",
        series=tuple(
            Series(each.get_name(), "µs", tuple(1e6 * value for value in each.get_values()))
            for each in found
        ),
        claims=(),
    )

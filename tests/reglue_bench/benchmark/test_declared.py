"""An environment that connects by itself, as a plan keeps it."""

from __future__ import annotations

import math

import pytest

from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.benchmark.declared import Declared
from reglue_bench.settings import Settings

PLAIN = Declared("theirs", "0" * 64, {"a": 2}, -math.inf, 50)
DECLARED = [
    PLAIN,
    Declared("theirs", "0" * 64, {"a": 2}, -1.0, 0, continuing=True),
    Declared("theirs", "0" * 64, {"a": 2}, -math.inf, 50, tells_success=False),
]


@pytest.mark.parametrize("declared", DECLARED)
def test_a_plan_gives_back_all_that_was_declared(declared: Declared) -> None:
    settings = Settings(benchmark="online:wait", steps=100, runs=1, agent="random")
    assert Declared.in_plan(make_plan(settings, declare=lambda _slots: declared)) == declared

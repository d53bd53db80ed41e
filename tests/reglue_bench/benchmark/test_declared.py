"""An environment that connects by itself, as a plan keeps it."""

from __future__ import annotations

import math

import pytest

from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.benchmark.declared import Declared
from reglue_bench.settings import Settings
from tests.error_facts import raises

PLAIN = Declared("theirs", "0" * 64, {"a": 2}, -math.inf, 50)
DECLARED = [
    PLAIN,
    Declared("theirs", "0" * 64, {"a": 2}, -1.0, 0, continuing=True),
    Declared("theirs", "0" * 64, {"a": 2}, -math.inf, 50, tells_success=False),
    Declared("theirs", "0" * 64, {"a": 2}, -math.inf, 50, repeatable=False),
]


@pytest.mark.parametrize("declared", DECLARED)
def test_a_plan_gives_back_all_that_was_declared(declared: Declared) -> None:
    settings = Settings(benchmark="online:wait", steps=100, runs=1, agent="random")
    assert Declared.in_plan(make_plan(settings, declare=lambda _slots: declared)) == declared


def test_what_is_not_repeatable_is_evaluated_and_not_compared_on_goals() -> None:
    declared = Declared("theirs", "0" * 64, {"a": 2}, repeatable=False)
    for name in ("evaluate:wait", "online:wait"):
        settings = Settings(benchmark=name, steps=100 if "online" in name else None, agent="random")
        make_plan(settings, declare=lambda _slots: declared)
    settings = Settings(benchmark="multi-task:wait", agent="random")
    with raises(UsageError, got="multi-task: of theirs, which says that it is not repeatable"):
        make_plan(settings, declare=lambda _slots: declared)

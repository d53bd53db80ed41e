"""Examples in docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "reglue.agents.agent",
    "reglue.rollouts.rollout",
    "reglue.spec",
    "reglue_bench.evaluation",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    ran = doctest.testmod(importlib.import_module(name))
    assert ran.attempted > 0
    assert ran.failed == 0

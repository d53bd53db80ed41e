"""The texts in a ledger suit all readers: from Python, a file of settings or a command."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = {"AgentFault", "EnvironmentFault", "EnvironmentTimeout", "Ending", "NotAnAgent"}


@pytest.mark.parametrize(
    "package", ["glue_server", "env_adapters", "benchmarks/reglue_bench", "agent_clients/python"]
)
def test_faults_and_endings_name_no_flag_of_the_command_line(package: str) -> None:
    flags = [
        f"{path.relative_to(ROOT)}:{each.lineno}: {each.value!r}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in KEPT
        for each in ast.walk(call)
        if isinstance(each, ast.Constant) and "--" in str(each.value)
    ]
    assert flags == []

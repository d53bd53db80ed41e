"""The example of a bake-off: one learner in four languages."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from reglue_bench.results.scores import PerformanceScore
from reglue_bench.results.scoring import read_run
from tests.agent_clients.client_programs import ROOT, built, run, typescript

pytestmark = pytest.mark.timeout(900)  # a first test compiles the clients


def test_a_learner_in_every_language_learns(libreglue: Mapping[str, str], tmp_path: Path) -> None:
    built("cpp", "sarsa_agent", "examples/sarsa_agent")
    typescript("examples/sarsa.js")
    file, out = ROOT / "docs/examples/languages.toml", tmp_path / "out"
    words = ("-m", "reglue", "bakeoff", str(file), "--out", str(out))
    run(sys.executable, *words, environment=libreglue)
    results = [read_run(folder) for folder in sorted(out.iterdir()) if folder.is_dir()]
    assert {each.agent.label for each in results} == {"C++", "Julia", "Python", "TypeScript"}
    for result in results:
        assert result.complete
        curve = result.score_as(PerformanceScore).curve.mean
        assert curve[-1] > curve[0] + 500

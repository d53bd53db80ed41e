"""The example that acts at random, in every language but Python, which draws otherwise."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from reglue_bench import evaluate
from reglue_bench.runs.ledger import LedgerReader
from tests.agent_clients.client_programs import ROOT, built, typescript
from tests.masked_doors import DOORS, LOCKS, STEPS

pytestmark = pytest.mark.timeout(900)  # it may compile the C++ library

TASKS = """
procedure = "evaluate"
fit = "superset"  # a tensor of actions for each: a Discrete and a Box
num_episodes = 2
slots = 3

[tasks.cart]
environment = "gymnasium:CartPole-v1"

[tasks.swing]
environment = "gymnasium:Pendulum-v1"
"""


def commands() -> dict[str, list[str]]:
    """The command line of the random agent in each language."""
    julia = ROOT / "agent_clients/julia"
    return {
        "c": [str(built("c", "random_agent_c", "random_agent_c"))],
        "cpp": [str(built("cpp", "random_agent", "examples/random_agent"))],
        "julia": ["julia", f"--project={julia}", str(julia / "examples/random.jl")],
        "typescript": ["node", str(typescript("examples/random.js"))],
    }


def test_random_agents_draw_the_same_actions_in_every_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_LIBRARY", str(built("c", "reglue_c", "libreglue.so")))
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(TASKS)
    returns = {}
    for language, command in commands().items():
        out = tmp_path / language
        result = evaluate(str(tasks), agent="", agent_cmd=shlex.join(command), out=out)
        assert result.complete, (result.ended_early, result.faults)
        with LedgerReader(out) as ledger:
            returns[language] = [(row.unit, row.return_) for row in ledger.rows()]
    assert len(returns["cpp"]) == 4
    assert returns["cpp"] == returns["c"] == returns["julia"] == returns["typescript"]


@pytest.mark.parametrize("env", [DOORS, LOCKS])
def test_random_agents_draw_legal_actions_where_a_mask_is_shown(
    env: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All the same ones."""
    monkeypatch.setenv("REGLUE_LIBRARY", str(built("c", "reglue_c", "libreglue.so")))
    returns = {}
    for language, command in commands().items():
        result = evaluate(
            f"evaluate:{env}", agent="", agent_cmd=shlex.join(command), num_episodes=5, slots=2
        )
        assert [(row.status, row.steps) for row in result.episodes] == [("ok", STEPS)] * 5
        returns[language] = [row.return_ for row in result.episodes]
    assert returns["cpp"] == returns["c"] == returns["julia"] == returns["typescript"]

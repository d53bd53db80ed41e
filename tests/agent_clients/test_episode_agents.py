"""Agents that are written for one episode, in each language: slots are handled for them."""

from __future__ import annotations

from reglue_bench import evaluate
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from tests.agent_clients.client_programs import built

CAR = "online:mountain-car"


def test_sarsa_in_cpp_learns_to_the_bit_as_in_python() -> None:
    command = str(built("cpp", "sarsa_agent", "examples/sarsa_agent"))
    cpp = evaluate(CAR, agent="", agent_cmd=command, runs=2, episodes=5, seed=3)
    python = evaluate(CAR, agent="sarsa", runs=2, episodes=5, seed=3)
    assert returns(cpp) == returns(python)


def returns(result: Result) -> list[object]:
    assert result.complete
    return [(each.status, each.line, each.steps) for each in result.score_as(PerformanceScore).runs]

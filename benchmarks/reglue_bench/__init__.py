"""Benchmarks: plans, procedures, ledgers, scores and reports.

Read in this order: `plans` (which episodes), `procedures` (how they are played), `planning` (makes
a plan from a name or file), `engines` (the processes that play it), `runs` (one run and its
ledger), `results` and `measures` (its score and comparisons), `plots`, `renderers`, `terminal` and
`report` (what people see), `cli`. Each imports only those before it.

from reglue_bench import evaluate
print(evaluate("MT10", agent="expert", seed=42).mean_success_rate)
print(evaluate("online:mountain-car", agent="sarsa", runs=30).performance)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from reglue.errors import MissingExtra

if TYPE_CHECKING:
    from reglue_bench.evaluation import evaluate
    from reglue_bench.evaluator import Evaluator
    from reglue_bench.results.result import Result, read_result

__all__ = ["Evaluator", "Result", "evaluate", "read_result"]

_WHERE = {
    "evaluate": "reglue_bench.evaluation",
    "Evaluator": "reglue_bench.evaluator",
    "Result": "reglue_bench.results.result",
    "read_result": "reglue_bench.results.result",
}


def __getattr__(name: str) -> object:
    """Import the name at its first use: a process that plays needs no report."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        raise MissingExtra("reglue_bench", "server", str(error.name)) from error

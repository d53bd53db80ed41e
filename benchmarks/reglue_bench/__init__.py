"""Benchmarks: plans, procedures, ledgers, scores and reports.

from reglue_bench import evaluate
print(evaluate("MT10", agent="expert", seed=42).mean_success_rate)
print(evaluate("online:mountain-car", agent="sarsa", runs=30).online.performance)
"""

from reglue.errors import MissingExtra

try:
    from reglue_bench.evaluation import evaluate
    from reglue_bench.evaluator import Evaluator
    from reglue_bench.results.result import Result, read_result
except ModuleNotFoundError as error:
    raise MissingExtra("reglue_bench", "server", str(error.name)) from error

__all__ = ["Evaluator", "Result", "evaluate", "read_result"]

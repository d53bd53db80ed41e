"""`metaworld.evaluation`'s two functions, fast: the import line is all that changes.

from reglue_bench.metaworld import evaluation, metalearning_evaluation
"""

from reglue_bench.metaworld.evaluation import evaluation, metalearning_evaluation

__all__ = ["evaluation", "metalearning_evaluation"]

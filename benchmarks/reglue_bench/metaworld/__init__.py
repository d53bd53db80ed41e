"""`metaworld.evaluation`, fast: the import line is all that changes.

from reglue_bench.metaworld import evaluation, metalearning_evaluation
import reglue_bench.metaworld as evaluation  # for `from metaworld import evaluation`
"""

from reglue.agents.metaworld import Timestep
from reglue_bench.metaworld.drop_in_evaluation import (
    SlowEvaluation,
    evaluation,
    metalearning_evaluation,
)
from reglue_bench.metaworld.protocol import Agent, MetaLearningAgent, _get_task_names

__all__ = [
    "Agent",
    "MetaLearningAgent",
    "SlowEvaluation",
    "Timestep",
    "_get_task_names",
    "evaluation",
    "metalearning_evaluation",
]

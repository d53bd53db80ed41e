"""Meta-World: its 50 tasks, its benchmarks' task sets and their goals.

Importing this loads neither metaworld nor MuJoCo; what needs them loads them, and
raises reglue.errors.MissingExtra where they are not installed.
"""

from env_adapters.metaworld.metaworld_suite import MetaWorld
from env_adapters.metaworld.task_sets import Goal, Stream, TaskSet, catalogue, draw_goals, task_set
from reglue.agents.metaworld import ALL_TASKS

__all__ = [
    "ALL_TASKS",
    "Goal",
    "MetaWorld",
    "Stream",
    "TaskSet",
    "catalogue",
    "draw_goals",
    "task_set",
]

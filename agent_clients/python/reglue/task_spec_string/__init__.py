"""RL-Glue's task spec 3.0: a TaskSpec as the string that RL-Glue's agents get.

`parse_task_spec` reads a string into a TaskSpecString, and `str()` writes it:

    VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1
    OBSERVATIONS DOUBLES (-1.2 0.6) (-0.07 0.07) ACTIONS INTS (0 2) REWARDS (-1 0)
    EXTRA Mountain Car

`task_spec_from_string` and `task_spec_to_string` convert to a TaskSpec and back.
`grammar` explains the language, `conversion` how tensors are converted.

Source: "Task Spec 3.0 (Fall 2008)" of RL-Glue's site, and the rules of RL-Glue 3.04's C parser
where that page is silent.
"""

from reglue.task_spec_string.conversion import (
    section_of,
    task_spec_from_string,
    task_spec_to_string,
)
from reglue.task_spec_string.grammar import parse_task_spec
from reglue.task_spec_string.spec_string import AbstractType, Range, TaskSpecString

__all__ = [
    "AbstractType",
    "Range",
    "TaskSpecString",
    "parse_task_spec",
    "section_of",
    "task_spec_from_string",
    "task_spec_to_string",
]

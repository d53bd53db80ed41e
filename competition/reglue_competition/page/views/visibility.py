"""How much of a benchmark's play a reader may see.

Until the organiser has revealed what a phase played, nobody but the organiser may learn from the
page which goals there are.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Literal, TypeAlias

from env_adapters.suites import EXAMPLES
from reglue_bench.planning.names import BenchmarkName
from reglue_bench.procedures import PROCEDURES
from reglue_competition.definition import BenchmarkEntry, Definition

Reader: TypeAlias = Literal["public", "team", "organiser"]
"""Who looks: `team` is the submission's own."""

_OF_GYMNASIUM = re.compile(r"gymnasium:[\w./-]+")
"""An id that imports no module: it is in Gymnasium itself, or in Reglue."""


class Visibility(IntEnum):
    """Each sees what those before it see."""

    SCORE = 0  # and the number of faults
    CURVES = 1  # and the curves of an agent that learns
    TASKS = 2  # and each task's name, score and faults
    EPISODES = 3  # and each goal


def visibility(
    definition: Definition,
    entry: BenchmarkEntry,
    reader: Reader,
    *,
    is_over: bool,
    is_revealed: bool,
) -> Visibility:
    """What of a submission's play of a benchmark may be seen.

    `is_over`: its phase is, so that its team has the transcript. `is_revealed`: everybody has
    what the phase played.
    """
    if reader == "organiser" or is_revealed or (is_over and reader == "team"):
        return Visibility.EPISODES
    if definition.agents_see.tasks or are_public(entry):
        return Visibility.TASKS
    return Visibility.CURVES if reader == "team" and _shows_rewards(entry) else Visibility.SCORE


def are_public(entry: BenchmarkEntry) -> bool:
    """Whether everybody knows a benchmark's tasks by its name; its goals are secret all the same.

    That is so of Meta-World's, of Reglue's examples and of Gymnasium's environments, unless
    arguments make something else of them.
    """
    if "environment_args" in entry.options:
        return False
    name = BenchmarkName.parse(entry.benchmark)
    is_public = name.environment in EXAMPLES or _OF_GYMNASIUM.fullmatch(name.environment)
    return name.is_metaworld or bool(is_public)


def _shows_rewards(entry: BenchmarkEntry) -> bool:
    """Whether its agents are always told their rewards; of a file nobody here knows."""
    name = BenchmarkName.parse(entry.benchmark)
    return bool(name.procedure) and not PROCEDURES[name.procedure].hides_rewards

"""The details of a run that each reader may see.

Until the organiser has revealed what a phase played, nobody but the organiser may learn from the
page which goals there are.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Literal, TypeAlias

from env_adapters.suites import EXAMPLES
from reglue_bench.benchmark.benchmark_source import is_file, named_source
from reglue_bench.procedures import PROCEDURES
from reglue_competition.definition import BenchmarkEntry, Definition

Reader: TypeAlias = Literal["public", "team", "organiser"]
"""The role of a reader; `team` is the submission's own team."""

_OF_GYMNASIUM = re.compile(r"gymnasium:[\w./-]+")
"""An id that imports no module: it is in Gymnasium itself, or in Reglue."""


class Visibility(IntEnum):
    """Levels of detail; each one includes those before it."""

    SCORE = 0  # the score and the number of faults
    CURVES = 1  # the curves of an agent that learns
    TASKS = 2  # each task's name, score and faults
    EPISODES = 3  # each episode, with its goal


def visibility(
    definition: Definition,
    entry: BenchmarkEntry,
    reader: Reader,
    *,
    is_over: bool,
    is_revealed: bool,
) -> Visibility:
    """The details of a submission's run of a benchmark that a reader may see.

    `is_over`: the phase is closed and played, so that the team has its transcript.
    `is_revealed`: the phase's plan was published.
    """
    if reader == "organiser" or is_revealed or (is_over and reader == "team"):
        return Visibility.EPISODES
    if definition.agents_see.tasks or are_public(entry):
        return Visibility.TASKS
    return Visibility.CURVES if reader == "team" and _shows_rewards(entry) else Visibility.SCORE


def are_public(entry: BenchmarkEntry) -> bool:
    """Whether a benchmark's name tells its tasks; its goals stay secret.

    That is so of Meta-World's, of Reglue's examples and of Gymnasium's environments, unless
    arguments make something else of them.
    """
    if "environment_args" in entry.options or is_file(entry.benchmark):
        return False
    source = named_source(entry.benchmark)
    is_public = source.environment in EXAMPLES or _OF_GYMNASIUM.fullmatch(source.environment)
    return source.is_metaworld or bool(is_public)


def _shows_rewards(entry: BenchmarkEntry) -> bool:
    """Whether agents always see their rewards; False for a file, which may hide them."""
    if is_file(entry.benchmark):
        return False
    return not PROCEDURES[named_source(entry.benchmark).procedure].hides_rewards

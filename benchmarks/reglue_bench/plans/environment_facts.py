"""Facts about a benchmark's environments, which a plan is made of besides settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from env_adapters import SuiteName
from reglue.spec import TaskSpec
from reglue_bench.plans.plan import Parameter

DEFAULT_SLOTS = 10


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """The environments of a benchmark, made here or declared by one that connects."""

    suite: SuiteName  # relative files in it are the settings' folder's, or the benchmark file's
    variants: Mapping[str, int]  # task -> how many it has, in the order of tasks
    reward_low: float  # of one step; -inf: no bound
    horizon: int  # steps to truncation; 0: no limit
    continuing: bool
    tells_success: bool
    most_slots: int = DEFAULT_SLOTS  # by default
    slots_follow_episodes: bool = False  # no more of them by default than there are episodes
    spec: TaskSpec | None = None  # None: of one that connects
    counts_steps: bool = False  # its cells need the run's steps
    repeatable: bool = True  # its cells decide its episodes
    max_slots: int = 0  # that it can play at once; 0: any number
    parameters: Mapping[str, Parameter] = field(default_factory=dict)  # that it adds to the plan
    privileged: tuple[str, ...] = ()  # what agents see that the benchmark hides
    changed: Mapping[str, Any] = field(default_factory=dict)  # of what the name means

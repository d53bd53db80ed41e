"""The walk of settings through the files, from `plan_and_start` on: run it to read it.

    python -m tests.reglue_bench.benchmark.settings_walk

A stay is an unbroken series of calls, into functions of one file, that are given settings, or a
value that is made of them on the way to the plan. A return is a stay in a file that was left
before. The plan itself, and what is made of it, are no longer followed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from env_adapters.metaworld import TaskSet
from env_adapters.suite_names import FamilyRequest
from reglue_bench.benchmark.benchmark import Benchmark, Resolved
from reglue_bench.benchmark.benchmark_source import Means, Source
from reglue_bench.evaluation import plan_and_start
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.environment_facts import EnvironmentFacts
from reglue_bench.runs.observer import NullObserver
from reglue_bench.settings import read_settings

ROOT = Path(__file__).parents[3]

FOLLOWED = (
    PlanSettings,
    Benchmark,
    Source,
    Means,
    EnvironmentFacts,
    Resolved,
    TaskSet,
    FamilyRequest,
)
"""Settings, and what they become on the way to a plan."""


def walk(benchmark: str) -> list[str]:
    """The files of the stays, in their order, of a short run of a benchmark."""
    settings = read_settings(benchmark=benchmark, agent="random", num_episodes=1, workers=0)
    stays: list[str] = []
    with tempfile.TemporaryDirectory() as folder, _traced(stays):
        plan_and_start(Path(folder, "run"), settings, NullObserver())
    return stays


def returns(stays: list[str]) -> int:
    """The number of stays in a file that was left before."""
    return len(stays) - len(set(stays))


@contextmanager
def _traced(stays: list[str]) -> Iterator[None]:
    before = sys.getprofile()

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":  # before all else: there are millions
            return
        name = _ours(frame.f_code.co_filename)
        if name and _is_given(frame) and stays[-1:] != [name]:
            stays.append(name)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


@cache
def _ours(file: str) -> str:
    """Its name from the root on; empty if it is not of the sources."""
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return ""
    name = path.relative_to(ROOT)
    return "" if name.parts[0].startswith((".", "te")) else str(name)


def _is_given(frame: FrameType) -> bool:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(isinstance(frame.f_locals.get(name), FOLLOWED) for name in names)


if __name__ == "__main__":
    files = walk("MT10")
    print("\n".join(files))
    print(f"{len(files)} stays in {len(set(files))} files, {returns(files)} returns")

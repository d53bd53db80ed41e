"""Suites of runs, made."""

from __future__ import annotations

from pathlib import Path

from env_adapters import Suite, SuiteName
from reglue.errors import NotAnEnvironment, ReglueError, UsageError
from reglue_bench.plans.file import is_custom
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings

_MEMBERS = ("spec", "variants", "standardizes", "world")  # of a Suite


def build(suite: SuiteName) -> Suite:
    """Make the suite. Raises UsageError, also where its author's code fails."""
    try:
        made = suite.build()
        missing = [name for name in _MEMBERS if not hasattr(made, name)]
    except ReglueError:
        raise
    except Exception as error:  # the edge of somebody's suite
        raise UsageError(
            f"the environment {suite.factory} cannot be made: {type(error).__name__}: {error}"
        ) from error
    if missing:
        raise NotAnEnvironment(
            f"{suite.factory} made a {type(made).__name__}, which has no {', '.join(missing)}; "
            f"wanted a suite of environments, with {', '.join(_MEMBERS)}"
        )
    return made


def suite_of(plan: Plan, settings: Settings) -> SuiteName:
    """The plan's, as it is made here."""
    folder = Path(settings.directory)
    if is_custom(settings.benchmark):
        folder = (folder / settings.benchmark).parent
    return plan.suite.located(folder)

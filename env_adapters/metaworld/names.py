"""The names of Meta-World's tasks."""

from __future__ import annotations

from reglue.agents.metaworld import ALL_TASKS
from reglue.errors import UnknownName


def check_task(name: str) -> str:
    """`name` itself. Raises UnknownName, with the near ones, if there is no such task."""
    if name not in ALL_TASKS:
        raise UnknownName("Meta-World task", name, ALL_TASKS)
    return name

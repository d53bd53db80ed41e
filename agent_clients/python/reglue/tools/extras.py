"""Names of the package `reglue` that extras bring: `reglue.evaluate`, `reglue.Glue`, `reglue.make`.

The SDK imports nothing of upper layers, so each is an entry point of the group `reglue.names`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from reglue.errors import MissingExtra

GROUP = "reglue.names"

EXTRAS: Mapping[str, str] = {
    "Evaluator": "server",
    "Glue": "server",
    "Result": "server",
    "evaluate": "server",
    "make": "gymnasium",
    "make_vec": "gymnasium",
}
"""By name, the extra that it needs."""


def load_name(name: str) -> object:
    """What `reglue.NAME` is. Raises MissingExtra, and AttributeError for an unknown name."""
    if name not in EXTRAS:
        raise AttributeError(f"module 'reglue' has no attribute {name!r}")
    points = entry_points(group=GROUP, name=name)
    if not points:
        raise AttributeError(
            f"reglue.{name} is in no installed package: install reglue, as its source alone says "
            "not where it is"
        )
    try:
        return next(iter(points)).load()
    except MissingExtra:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtra(f"reglue.{name}", EXTRAS[name], str(error.name)) from error

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
"""The extra that each name needs."""


def load_name(name: str) -> object:
    """The object `reglue.NAME`. Raises MissingExtra, and AttributeError for an unknown name."""
    if name not in EXTRAS:
        raise AttributeError(f"module 'reglue' has no attribute {name!r}")
    points = entry_points(group=GROUP, name=name)
    if not points:
        raise AttributeError(
            f"reglue.{name} is an entry point of the installed package reglue, which is not "
            "installed: install it; its source on the path is not enough"
        )
    try:
        return next(iter(points)).load()
    except MissingExtra:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtra(f"reglue.{name}", EXTRAS[name], str(error.name)) from error

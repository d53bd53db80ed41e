"""The columns of exported episodes; a file that loads nothing, for `reglue export --help`."""

from __future__ import annotations

COLUMNS: dict[str, tuple[str, type]] = {
    "unit": ("unit", int),
    "try": ("attempt", int),
    "k": ("k", int),
    "task": ("task", str),
    "variant": ("variant", int),
    "repeat": ("repeat", int),
    "seed": ("seed", int),
    "phase": ("phase", str),
    "status": ("status", str),
    "success": ("success", bool),
    "first_success": ("first_success", int),
    "return": ("return_", float),
    "steps": ("steps", int),
    "clipped": ("clipped", int),
    "defaulted": ("defaulted", int),
    "detail": ("detail", str),
}
"""Each column's field of EpisodeRow, and its type: int64, UTF-8, boolean or float64."""

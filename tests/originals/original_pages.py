"""Runs the code of the pages that Reglue answers to: what stands there, after other imports."""

from __future__ import annotations

import textwrap
from typing import Any


def run(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names after a block of a page; `names` are what its imports bring."""
    found = dict(names)
    exec(compile(textwrap.dedent(code), "the page", "exec"), found)
    return found

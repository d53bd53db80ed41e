"""MuJoCo's data by name, each name looked up once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Views:
    """`body(name)`, `geom(name)`, `joint(name)` and `site(name)` of an MjData.

    What they give has MjData's own arrays: MuJoCo writes them, nobody else copies.
    """

    def __init__(self, data: Any) -> None:
        # A dict's own look-up: a hit calls no Python.
        self.body: Callable[[str], Any] = _ByName(data.body).__getitem__
        self.geom: Callable[[str], Any] = _ByName(data.geom).__getitem__
        self.joint: Callable[[str], Any] = _ByName(data.joint).__getitem__
        self.site: Callable[[str], Any] = _ByName(data.site).__getitem__


class _ByName(dict[str, Any]):
    def __init__(self, find: Callable[[str], Any]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> Any:
        self[name] = view = _View(self._find(name))
        return view


class _View:
    def __init__(self, named: Any) -> None:
        self._named = named

    def __getattr__(self, field: str) -> Any:
        value = getattr(self._named, field)
        if isinstance(value, np.ndarray):  # of MjData's memory, which never moves
            setattr(self, field, value)
        return value

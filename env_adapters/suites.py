"""Suites by name, so that any process can build them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reglue.errors import UnknownName
from reglue.loading import find
from reglue.worlds import Suite


@dataclass(frozen=True, slots=True)
class SuiteName:
    """A suite by `module:factory` or `file.py:factory`, and JSON."""

    factory: str
    config: Mapping[str, Any]

    def build(self) -> Suite:
        """Call the factory with the config's entries as keywords. Raises UsageError."""
        suite: Suite = find(self.factory)(**self.config)
        return suite


_GYMNASIUM = "env_adapters.gymnasium:Gymnasium"

BUILT_IN: Mapping[str, SuiteName] = {
    "gridworld": SuiteName("env_adapters.classic.gridworld:GridWorld", {}),
    "mountain-car": SuiteName("env_adapters.classic.mountain_car:MountainCar", {}),
    "access-control": SuiteName("env_adapters.classic.access_control:AccessControl", {}),
    "cart-pole": SuiteName(_GYMNASIUM, {"id": "CartPole-v1"}),
    "acrobot": SuiteName(_GYMNASIUM, {"id": "Acrobot-v1"}),
}
"""Environments to learn from and to test on."""


def suite_name(name: str, arguments: Mapping[str, Any] | None = None) -> SuiteName:
    """The suite that a command line names.

    One of BUILT_IN, `gymnasium:ID`, `module:factory` or `file.py:factory`; `arguments`
    are more keywords of its factory. Raises UnknownName.
    """
    more = dict(arguments or {})
    if name in BUILT_IN:
        known = BUILT_IN[name]
        return SuiteName(known.factory, {**known.config, **more})
    if name.startswith("gymnasium:"):
        return SuiteName(_GYMNASIUM, {"id": name.removeprefix("gymnasium:"), **more})
    if re.search(r":\w+$", name):
        return SuiteName(name, more)
    raise UnknownName("environment", name, [*BUILT_IN, "gymnasium:ID", "file.py:Class"])

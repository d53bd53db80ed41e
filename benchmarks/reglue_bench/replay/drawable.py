"""Suites that draw: the same episodes, with pictures where they can be had."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from env_adapters import Suite, SuiteName
from reglue.errors import UsageError
from reglue.tools.loading import find
from reglue_bench.plans.suites import build

_GYMNASIUM = "gymnasium:"
_DRAWS = {"render_mode": "rgb_array"}


def with_pictures(suite: SuiteName) -> Suite:
    """The suite, made so that its worlds' `render` draws if its environment can.

    Raises UsageError where it cannot be made at all.
    """
    asked = _asked_to_draw(suite)
    try:
        return build(asked)
    except UsageError:
        if asked == suite:
            raise
        return build(suite)  # it does not take the keyword, or there is more that is wrong


def _asked_to_draw(suite: SuiteName) -> SuiteName:
    config = suite.config
    match suite.factory:
        case "env_adapters.composed:Composed":
            suites = [_table(each) for each in config["suites"]]
            return SuiteName(suite.factory, {**config, "suites": suites})
        case "env_adapters.curricula.suite:Schedule":
            schedule = _environments(config["schedule"])
            return SuiteName(suite.factory, {**config, "schedule": schedule})
        case "env_adapters.gymnasium:Gymnasium":
            return SuiteName(suite.factory, {**_DRAWS, **config})
    if "render_mode" in inspect.signature(find(suite.factory)).parameters:
        return SuiteName(suite.factory, {**_DRAWS, **config})
    return suite


def _table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Of a Composed's suite."""
    asked = _asked_to_draw(SuiteName(table["factory"], table["config"]))
    return {"factory": asked.factory, "config": asked.config}


def _environments(what: Any) -> Any:
    """A part of a schedule in which Gymnasium's environments, and no others, draw."""
    if isinstance(what, list):
        return [_environments(each) for each in what]
    if isinstance(what, str) and what.startswith(_GYMNASIUM):
        return {"env": what, "kwargs": _DRAWS}
    if isinstance(what, dict) and str(what.get("env", "")).startswith(_GYMNASIUM):
        return {**what, "kwargs": {**_DRAWS, **what.get("kwargs", {})}}
    if isinstance(what, dict) and "env" not in what:
        return {key: _environments(value) for key, value in what.items()}
    return what

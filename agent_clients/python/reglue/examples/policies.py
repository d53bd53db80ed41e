"""Meta-World's scripted policies without its simulators, whose loading takes half a second."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from reglue.errors import MissingExtra

_PACKAGE = "metaworld"


def policies() -> Mapping[str, Any]:
    """The policies' classes by task name. Raises MissingExtra."""
    try:
        if _PACKAGE in sys.modules:
            module = importlib.import_module(f"{_PACKAGE}.policies")
        else:
            with _an_empty_package():
                module = importlib.import_module(f"{_PACKAGE}.policies")
    except ModuleNotFoundError as error:
        raise MissingExtra("the example agent `expert`", "metaworld", "Meta-World") from error
    found: Mapping[str, Any] = module.ENV_POLICY_MAP
    return found


@contextmanager
def _an_empty_package() -> Iterator[None]:
    """Load modules without the package around them; they leave `sys.modules` at the end."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(name=_PACKAGE)
    sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        for name in [each for each in sys.modules if each.split(".")[0] == _PACKAGE]:
            del sys.modules[name]

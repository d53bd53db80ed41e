"""Suites whose environments draw, if they can."""

from __future__ import annotations

from env_adapters import Suite, SuiteName
from reglue.errors import UsageError


def with_pictures(suite: SuiteName) -> Suite:
    """The suite, made so that its worlds' `render` draws if its environment can.

    Raises UsageError where it cannot be made at all.
    """
    asked = suite.drawing()
    try:
        return asked.build()
    except UsageError:
        if asked == suite:
            raise
        return suite.build()  # it does not take the keyword, or something else is wrong

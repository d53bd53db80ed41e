"""A browser for what the documentation shows."""

from tests.docs.browser import browser

__all__ = ["browser"]

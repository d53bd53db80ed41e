"""Databases of competitions."""

from __future__ import annotations

from tests.reglue_competition.conftest import postgresql, store, url

__all__ = ["postgresql", "store", "url"]

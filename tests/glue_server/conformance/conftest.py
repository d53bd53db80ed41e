"""The common part of tests of clients that leave early."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def quiet() -> Iterator[None]:
    """Clients in this process say why they leave."""
    log = logging.getLogger("reglue")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)

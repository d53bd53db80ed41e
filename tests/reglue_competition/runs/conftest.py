"""Clean-up after tests, and an image that is handed in."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.leftovers import nothing_left
from tests.reglue_competition.images.test_image import Made, tar


@pytest.fixture
def cleared() -> Iterator[None]:
    """No thread and no process of the test is left."""
    with nothing_left():
        yield


@pytest.fixture
def large() -> Made:
    """An image whose archive has several parts."""
    return Made(layers=[tar({"agent": os.urandom(700_000)})])

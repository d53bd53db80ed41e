"""What tests leave behind: nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.leftovers import nothing_left


@pytest.fixture
def cleared() -> Iterator[None]:
    """No thread and no process of the test is left."""
    with nothing_left():
        yield

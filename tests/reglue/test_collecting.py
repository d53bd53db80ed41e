"""Garbage is looked for less while programs start, and as before afterwards."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from reglue.collecting import starting


class Cycle:
    """Only the collector sees that nobody needs it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def test_loading_a_module_is_not_held_up() -> None:
    kept: list[list[int]] = []
    before = collections()
    with starting():
        kept += [[number] for number in range(50_000)]
    assert collections() == before
    kept += [[number] for number in range(50_000)]
    assert collections() > before


def test_what_is_left_in_large_amounts_is_still_collected() -> None:
    with starting():
        first = weakref.ref(Cycle())
        for _ in range(300_000):
            Cycle()
        assert first() is None


def test_the_collector_is_left_as_it_was_found() -> None:
    before = gc.get_threshold(), gc.isenabled()
    with pytest.raises(ImportError), starting():
        raise ImportError
    assert (gc.get_threshold(), gc.isenabled()) == before

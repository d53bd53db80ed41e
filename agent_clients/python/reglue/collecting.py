"""When to look for garbage less: while programs start, and when they end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 200_000  # objects made since the last look; Python's own habit is every 700 to 2000


@contextmanager
def starting() -> Iterator[None]:
    """While modules load: they leave little garbage, and looking for it takes a third of the time.

    What is there afterwards stays, and is not looked through again. For programs of our
    own: in others' processes the collector is theirs.
    """
    habit = gc.get_threshold()
    gc.set_threshold(_SELDOM, *habit[1:])
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*habit)


def ending() -> None:
    """Let a process end without looking through all that it lets go of."""
    gc.freeze()

"""When not to look for garbage: while programs start, and when they end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def starting() -> Iterator[None]:
    """While modules load: they leave no garbage, and looking for it takes a third of the time.

    What is there afterwards stays, and is not looked through again. For programs of our
    own: in others' processes the collector is theirs.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def ending() -> None:
    """Let a process end without looking through all that it lets go of."""
    gc.freeze()

"""The waits of a stream of gRPC."""

from __future__ import annotations

import threading

from reglue.net.streams import _TimeLimit

PATIENCE_S = 20.0


def test_a_limit_that_was_lifted_ends_nothing() -> None:
    """A program may pause between two routines for as long as it likes."""
    ended = threading.Event()
    limit = _TimeLimit(ended.set)
    limit.set(0.2)
    limit.set(None)
    assert not ended.wait(0.5)
    assert not limit.is_over
    limit.close()


def test_a_shorter_limit_wakes_the_thread_that_knows_a_longer_one() -> None:
    ended = threading.Event()
    limit = _TimeLimit(ended.set)
    limit.set(1e6)
    limit.set(0.1)
    assert ended.wait(PATIENCE_S)
    assert limit.is_over
    limit.close()

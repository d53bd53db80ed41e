"""The wait for the first of several descriptors."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from glue_server.processes.readable import readable
from tests.waiting import PATIENCE_S


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Three, each with our end first."""
    with ExitStack() as closing:
        made = [socket.socketpair() for _ in range(3)]
        for end in [end for pair in made for end in pair]:
            closing.enter_context(end)
        yield made


def test_those_with_something_or_with_a_closed_end_are_found(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    ours = [our for our, _ in pairs]
    pairs[1][1].send(b"!")
    pairs[2][1].close()
    assert readable(ours, PATIENCE_S) == ours[1:]
    numbers = [our.fileno() for our in ours]
    assert readable(numbers, PATIENCE_S) == numbers[1:]


def test_nothing_is_found_once_the_time_is_over(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    assert readable([our for our, _ in pairs], 0.01) == []
    assert readable([our.fileno() for our, _ in pairs], 0.0) == []


def test_one_that_is_closed_here_is_found_at_once(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    pairs[1][0].close()
    assert readable([our for our, _ in pairs], PATIENCE_S) == [pairs[1][0]]


def test_descriptors_may_be_large() -> None:
    """Beyond 1023 select fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1100), hard))
    ours, theirs = os.pipe()
    large = fcntl.fcntl(ours, fcntl.F_DUPFD, 1030)
    try:
        os.write(theirs, b"!")
        assert readable([large], PATIENCE_S) == [large]
    finally:
        for each in (ours, theirs, large):
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

"""Spinning of a wait before it sleeps."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from reglue.net.adaptive_spin import AdaptiveSpin

SPIN = "reglue.net.adaptive_spin"


class Clock:
    """Stands still, but for what a yield takes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.yield_s = 0.0
        self.yields = 0
        self.on_yield: Callable[[], object] = lambda: None

    def give_way(self) -> None:
        self.yields += 1
        self.now += self.yield_s
        self.on_yield()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(f"{SPIN}.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(f"{SPIN}._give_way", clock.give_way)
    monkeypatch.setattr(f"{SPIN}._cores", lambda: 2)
    return clock


@pytest.fixture
def peer() -> Iterator[tuple[select.poll, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        yield poll, theirs


def test_a_wait_spins_until_a_message_comes(
    clock: Clock, peer: tuple[select.poll, socket.socket]
) -> None:
    poll, theirs = peer
    clock.yield_s = 1e-6
    clock.on_yield = lambda: clock.yields == 3 and theirs.send(b"!")
    spin = AdaptiveSpin()
    assert spin.pays()
    assert spin.spin(poll)
    assert clock.yields == 3
    assert spin.pays()


def test_waits_that_spin_in_vain_rest_twice_as_long_each_time(
    clock: Clock, peer: tuple[select.poll, socket.socket]
) -> None:
    clock.yield_s = 20e-6
    spin, rests = AdaptiveSpin(), []
    for _ in range(4):
        assert not spin.spin(peer[0])
        rests.append(0)
        while not spin.pays():
            rests[-1] += 1
    assert rests == [1, 2, 4, 8]

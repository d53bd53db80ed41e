"""The wait for the first of several descriptors.

Elsewhere a set of descriptors stays registered between waits, for speed or since another thread
waits too: `event_loop`, `rpc.peer_streams.Wakeup`, `rpc.unix_listener`, and in the SDK
`net.unix_socket`, which may spin first. `children` waits for a hang-up alone.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Iterable
from typing import Protocol, TypeVar

from glue_server.processes.interrupts import next_look_s

_MOST_S = 1e6  # poll takes no longer


class _HasDescriptor(Protocol):
    def fileno(self) -> int:
        """Its descriptor; negative once it is closed."""


_P = TypeVar("_P", bound=int | _HasDescriptor)


def readable(polled: Iterable[_P], within_s: float) -> list[_P]:
    """Wait for the first of some descriptors, or of their owners, that can be read or is closed.

    Returns all of which that is so, or none after `within_s` seconds. It works beyond descriptor
    1023, unlike select. Raises KeyboardInterrupt: see `next_look_s`.
    """
    poll = select.poll()
    by_number = {each if isinstance(each, int) else each.fileno(): each for each in polled}
    if (closed := by_number.get(-1)) is not None:  # who receives from it is told so
        return [closed]
    for number in by_number:
        poll.register(number, select.POLLIN)
    until = time.monotonic() + within_s
    while True:
        left_s = max(0.0, until - time.monotonic())
        ready = poll.poll(math.ceil(1000 * min(next_look_s(left_s), _MOST_S)))
        if ready or time.monotonic() >= until:
            return [by_number[number] for number, _ in ready]

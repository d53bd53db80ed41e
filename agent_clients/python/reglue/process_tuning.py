"""Settings of a whole process that make it faster: garbage collection, and the C library's memory.

For processes that Reglue starts, apart from `keep_blocks_for`: other programs set their own
collector.
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reglue.spec import TaskSpec

_SELDOM = 200_000  # objects made between two collections; Python's default is 700 to 2000

_LARGE = 1 << 17  # bytes from which glibc asks the kernel for each block, by default

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BLOCK = 1 << 25  # the most that glibc takes
_KEPT_FREE = 1 << 28


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Collect garbage seldom while modules load.

    Modules leave little garbage, and looking for it takes a third of the time. Later
    collections skip the objects made meanwhile.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(_SELDOM, *threshold[1:])
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*threshold)


def exit_without_collecting() -> None:
    """Let the process exit without a last collection of garbage."""
    gc.freeze()


def keep_blocks_for(spec: TaskSpec) -> None:
    """Keep large blocks of memory in this process, if turns of `spec` need some.

    A turn of 480×480×3 bytes passes three times as fast. Does nothing if the C library is not
    glibc.
    """
    if sum(tensor.row_bytes for tensor in spec.observations) * spec.slots >= _LARGE:
        _keep_blocks()


@functools.cache
def _keep_blocks() -> None:
    """Keep blocks of up to 32 MB: fresh ones from the kernel cost more than their bytes."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)

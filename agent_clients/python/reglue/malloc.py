"""Lets the C library keep large blocks: fresh ones of the kernel's cost more than their bytes."""

from __future__ import annotations

import ctypes
import functools

from reglue.spec import TaskSpec

_LARGE = 1 << 17  # bytes from which glibc asks the kernel for each block, unless it is told

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BLOCK = 1 << 25  # the most that glibc takes
_KEPT_FREE = 1 << 28


def keep_blocks_for(spec: TaskSpec) -> None:
    """Have this process keep large blocks if turns of `spec` need some.

    A turn of 480×480×3 bytes passes three times as fast. Does nothing where the C library
    is not glibc.
    """
    if sum(tensor.row_bytes for tensor in spec.observations) * spec.slots >= _LARGE:
        keep_blocks()


@functools.cache
def keep_blocks() -> None:
    """Have this process keep blocks of up to 32 MB; where the C library is glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)

"""Workers that live as long as the vector environment for which they play."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from env_adapters import SuiteName
from glue_server import Pool
from reglue_bench.runs.pools import make_pool

_KEPT = "_reglue_pool"  # the attribute of a vector environment that holds its pool


@dataclass(frozen=True, slots=True)
class _KeptPool:
    made_for: tuple[SuiteName, int | None]
    pool: Pool
    close: weakref.finalize[Any, Any]  # once: now, with the vector environment, or at exit


@contextmanager
def playing(envs: Any, suite: SuiteName, slots: int, workers: int | None) -> Iterator[Pool]:
    """The pool that plays `suite` for `envs`; it is kept if nothing goes wrong.

    Starting workers costs seconds, and a training loop evaluates again and again.
    """
    kept: _KeptPool | None = getattr(envs, _KEPT, None)
    if kept is None or kept.made_for != (suite, workers):
        if kept is not None:
            kept.close()
        pool = make_pool(suite, slots, workers=workers)
        kept = _KeptPool((suite, workers), pool, weakref.finalize(envs, pool.close))
        setattr(envs, _KEPT, kept)
    try:
        yield kept.pool
    except BaseException:
        delattr(envs, _KEPT)
        kept.close()
        raise

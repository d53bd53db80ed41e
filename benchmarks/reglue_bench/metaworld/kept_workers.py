"""Workers that live as long as the vector environment for which they play."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from env_adapters import SuiteName
from glue_server import EnvironmentCalls
from reglue_bench.engines.environments import make_environment

_KEPT = "_reglue_environment"  # the attribute of a vector environment that holds its workers


@dataclass(frozen=True, slots=True)
class _Kept:
    made_for: tuple[SuiteName, int | None]
    environment: EnvironmentCalls
    close: weakref.finalize[Any, Any]  # once: now, with the vector environment, or at exit


@contextmanager
def playing(
    envs: Any, suite: SuiteName, slots: int, workers: int | None
) -> Iterator[EnvironmentCalls]:
    """The environment that plays `suite` for `envs`; it is kept if no error occurs. Starting
    workers costs seconds, and a training loop evaluates often.
    """
    kept: _Kept | None = getattr(envs, _KEPT, None)
    if kept is None or kept.made_for != (suite, workers):
        if kept is not None:
            kept.close()
        environment = make_environment(suite, slots, workers=workers)
        kept = _Kept((suite, workers), environment, weakref.finalize(envs, environment.close))
        setattr(envs, _KEPT, kept)
    try:
        yield kept.environment
    except BaseException:
        delattr(envs, _KEPT)
        kept.close()
        raise

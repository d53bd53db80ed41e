"""Workers that live as long as the vector environment for which they play."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from env_adapters import SuiteName
from glue_server import EnvironmentCalls
from reglue_bench.engines.run_environments import make_environment

_CACHED = "_reglue_environment"  # the attribute of a vector environment that holds its workers


@dataclass(frozen=True, slots=True)
class _Cached:
    key: tuple[SuiteName, int | None]
    environment: EnvironmentCalls
    close: weakref.finalize[Any, Any]  # once: now, with the vector environment, or at exit


@contextmanager
def playing(
    envs: Any, suite: SuiteName, slots: int, workers: int | None
) -> Iterator[EnvironmentCalls]:
    """The environment that plays `suite` for `envs`; it is kept if no error occurs. Starting
    workers costs seconds, and a training loop evaluates often.
    """
    cached: _Cached | None = getattr(envs, _CACHED, None)
    if cached is None or cached.key != (suite, workers):
        if cached is not None:
            cached.close()
        environment = make_environment(suite, slots, workers=workers)
        cached = _Cached((suite, workers), environment, weakref.finalize(envs, environment.close))
        setattr(envs, _CACHED, cached)
    try:
        yield cached.environment
    except BaseException:
        delattr(envs, _CACHED)
        cached.close()
        raise

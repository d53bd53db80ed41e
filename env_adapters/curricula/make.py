"""From a schedule to an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from env_adapters.curricula.environment import Curriculum
from env_adapters.curricula.schedule import Reader, Reading
from env_adapters.curricula.spaces import FITS, Fit
from reglue.errors import UnknownName, UsageError

_SEEDS = 2**63


def make_curriculum(
    schedule: Any,
    *,
    episodic: bool = True,
    across_workers: int = 1,
    seed: int = 0,
    key_readers: Mapping[str, Reader] | None = None,
    fit: Fit = "equal",
    task_id: bool = False,
    **env_kwargs: Any,
) -> tuple[Curriculum, int]:
    """An environment that plays `schedule`, and how long that is: its total duration.

    `schedule` is a list of `[what, duration]`, see `env_adapters.curricula.schedule`.
    Durations count episodes if `episodic`, else steps. Each of `across_workers` copies has
    its share of every duration, rounded down. Whatever is drawn follows from `seed`.
    `key_readers` read entries of other keys. Spaces that differ are refused, or fit as `fit`
    says (`env_adapters.curricula.spaces`), and numeric names are shown if `task_id` says so.
    `env_kwargs` go to every environment that is made here.

    Raises UsageError: what is wrong, and where in the schedule.
    """
    _check_whole("across_workers", across_workers, 1, _SEEDS)
    _check_whole("seed", seed, 0, _SEEDS)
    if fit not in FITS:
        raise UnknownName("fit", str(fit), FITS)
    reading = Reading(episodic, across_workers, key_readers or {}, env_kwargs)
    entries = reading.entries(schedule)
    env = Curriculum(
        entries, episodic=episodic, seed=seed, env_kwargs=env_kwargs, fit=fit, task_id=task_id
    )
    return env, sum(entry.duration for entry in entries)


def _check_whole(name: str, given: object, least: int, end: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given < end:
        raise UsageError(f"got {name} {given!r}, wanted a whole number from {least} below 2**63")

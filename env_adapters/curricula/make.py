"""Makes an environment from a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from env_adapters.curricula.environment import Curriculum
from env_adapters.curricula.schedule import Interpreter, Reader, Reading
from env_adapters.environment_configs.values import ConfigError, is_whole
from env_adapters.fitting.fit import FITS, Fit
from reglue.errors import UnknownName

_SEEDS = 2**63


def make_curriculum(  # noqa: PLR0913 - the original's, and ours
    schedule: Any,
    *,
    primary_interpreter: Interpreter | None = None,
    episodic: bool = False,
    across_workers: int = 1,
    seed: int = 0,
    key_readers: Mapping[str, Reader] | None = None,
    fit: Fit = "equal",
    task_id: bool = False,
    **env_kwargs: Any,
) -> tuple[Curriculum, int]:
    """An environment that plays `schedule`, and the schedule's total duration.

    `schedule` is a list of `[what, duration]`, see `env_adapters.curricula.schedule`.
    Durations count steps, or episodes if `episodic`. Each of `across_workers` copies gets its
    share of every duration, rounded down. All draws follow from `seed`.
    `primary_interpreter(what, **env_kwargs)` makes the environment of each entry, and of each
    member of a pool, from whatever the schedule has in its place; you close these environments.
    `key_readers` read entries of other keys. `fit` says how spaces that differ are combined
    (`env_adapters.fitting.fit`). `task_id` shows numeric names in observations.
    `env_kwargs` are passed to every environment that is made here. Raises ConfigError, which says
    what is wrong and where in the schedule.
    """
    _check_whole("across_workers", across_workers, 1)
    _check_whole("seed", seed, 0)
    _check_flag("episodic", episodic)
    _check_flag("task_id", task_id)
    if fit not in FITS:
        raise ConfigError("fit", str(UnknownName("fit", str(fit), FITS)))
    if primary_interpreter is not None and not callable(primary_interpreter):
        raise ConfigError(
            "primary_interpreter", f"got {primary_interpreter!r}, wanted a function of an entry"
        )
    readers = {} if key_readers is None else key_readers
    _check_readers(readers)
    entries = Reading(episodic, across_workers, readers, env_kwargs, primary_interpreter).entries(
        schedule
    )
    if not entries:
        raise ConfigError("schedule", "got nothing to play, since every entry is repeated 0 times")
    env = Curriculum(
        entries, episodic=episodic, seed=int(seed), env_kwargs=env_kwargs, fit=fit, task_id=task_id
    )
    return env, sum(entry.duration for entry in entries)


def interpolation(
    config1: Any, config2: Any, duration: int, *, episodic: bool = False, **env_kwargs: Any
) -> Curriculum:
    """From one config to the other within `duration`, as Meta Arcade's `MetaArcadeInterpolate-v0`.

    Raises ConfigError.
    """
    schedule = [[{"interpolate": [config1, config2]}, duration]]
    return make_curriculum(schedule, episodic=episodic, **env_kwargs)[0]


def _check_whole(name: str, given: object, least: int) -> None:
    if not is_whole(given) or not least <= given < _SEEDS:
        raise ConfigError(name, f"got {given!r}, wanted an integer from {least} below 2**63")


def _check_flag(name: str, given: object) -> None:
    if not isinstance(given, bool):
        raise ConfigError(name, f"got {given!r}, wanted True or False")


def _check_readers(given: object) -> None:
    if not isinstance(given, Mapping) or not all(map(callable, given.values())):
        raise ConfigError("key_readers", f"got {given!r}, wanted functions by their keys")

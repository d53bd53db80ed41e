"""Values between two configs.

The first config decides a value's type: an int is rounded half to even, a float is linear, bool,
str and None do not change, lists and dicts are interpolated entry by entry, and distributions by
their parameters. Entries that only the second has are omitted.

Source: Meta Arcade, "Meta Arcade Interpolation".
"""

from __future__ import annotations

from env_adapters.environment_configs.distributions import KEY, is_distribution, kind_of
from env_adapters.environment_configs.values import JSON, ConfigError, inside, is_finite, is_number


def interpolate(one: JSON, other: JSON, alpha: float) -> JSON:
    """The config between `one`, at alpha 0, and `other`, at alpha 1 or more.

    The two must have passed `check_interpolation`.
    """
    alpha = min(1.0, alpha)
    if is_number(one):
        between = one + (other - one) * alpha
        return round(between) if isinstance(one, int) else between
    if isinstance(one, list):
        return [interpolate(*pair, alpha) for pair in zip(one, other, strict=False)]
    if isinstance(one, dict):
        return {key: interpolate(value, other[key], alpha) for key, value in one.items()}
    return one


def check_interpolation(one: JSON, other: JSON, path: str = "") -> None:
    """Raise ConfigError if the two cannot be interpolated, and say where. `path` leads to the
    configs in a larger one.
    """
    if is_distribution(one) != is_distribution(other):
        raise ConfigError(path, got=f"{one} and {other}", wanted="two distributions or none")
    if is_number(one):
        if not (is_finite(one) and is_finite(other) and is_finite(other - one)):
            raise ConfigError(path, got=f"{one} and {other!r}", wanted="two finite numbers")
    elif isinstance(one, list):
        if not isinstance(other, list) or len(other) < len(one):
            raise ConfigError(path, got=f"{one} and {other}", wanted="two lists of one length")
        for place, pair in enumerate(zip(one, other, strict=False)):
            check_interpolation(*pair, inside(path, place))
    elif isinstance(one, dict):
        _check_dicts(one, other, path)


def _check_dicts(one: dict[str, JSON], other: JSON, path: str) -> None:
    if not isinstance(other, dict):
        raise ConfigError(path, got=f"a table and {other!r}", wanted="two tables")
    if kind_of(one) != kind_of(other):
        kinds = f"{one.get(KEY)} and {other.get(KEY)}"
        wanted = "one kind; only their parameters change"
        raise ConfigError(path, got=f"the distributions {kinds}", wanted=wanted)
    for key, value in one.items():
        if key not in other:
            raise ConfigError(inside(path, key), "the second config lacks it")
        check_interpolation(value, other[key], inside(path, key))

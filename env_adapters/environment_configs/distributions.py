"""Distributions in configs: a dict with the key `distribution` is replaced by a draw.

- `uniform`: `low` and `high`, numbers or lists of one length. One draw for a whole list:
  `low + (high - low) × u`. To draw each entry by itself, make each a distribution.
- `normal` (also `gaussian`): `mean` and `std`; entries of a list are drawn one by one.
- `color`: `hrange`, `srange`, `lrange`, each `[low, high]` within 0 to 1 (the default): hue,
  saturation and lightness, each uniform. Hue wraps around: `[0.9, 1.1]` is about red. The draw is
  `[red, green, blue]`, integers from 0 to 255.

If `low` or `mean` is an integer, the draw is rounded to one, half to even.

Source: Meta Arcade, "Parameter Distributions". There every reading draws again, from global
generators; here a config is drawn once for each episode, from the episode's generator.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from env_adapters.environment_configs.values import JSON, ConfigError, inside, is_finite
from reglue.errors import UnknownName

KEY = "distribution"

Parameters: TypeAlias = Mapping[str, JSON]


class Draws(Protocol):
    """The part of `numpy.random.Generator` that is used."""

    def random(self) -> float:
        """A uniform draw from 0 up to 1."""

    def standard_normal(self) -> float:
        """A normal draw of mean 0 and standard deviation 1."""


def sample(config: JSON, generator: Draws) -> JSON:
    """A copy in which each distribution is replaced by a draw.

    Draws are made in the alphabetical order of keys, since the order of a table has no meaning. The
    config must have passed `check_distributions`.
    """
    if is_distribution(config):
        return _KINDS[config[KEY]].draw(config, generator)
    if isinstance(config, dict):
        sampled = {key: sample(config[key], generator) for key in sorted(config)}
        return {key: sampled[key] for key in config}
    if isinstance(config, list):
        return [sample(value, generator) for value in config]
    return config


def extremes(config: JSON) -> list[JSON]:
    """Two copies, with each distribution at its lowest and at its highest; one copy if these are
    equal. A normal distribution has no ends: it is at its mean.
    """
    lowest, highest = sample(config, _End(0.0)), sample(config, _End(1.0))
    return [lowest] if lowest == highest else [lowest, highest]


def check_distributions(config: JSON, path: str = "") -> None:
    """Raise ConfigError for a distribution that cannot be drawn from, and say which.

    `path` leads to the config in a larger one.
    """
    if is_distribution(config):
        _check(config, path)
    elif isinstance(config, dict):
        for key, value in config.items():
            check_distributions(value, inside(path, key))
    elif isinstance(config, list):
        for place, value in enumerate(config):
            check_distributions(value, inside(path, place))


def is_distribution(config: JSON) -> bool:
    """Whether `config` is a distribution."""
    return isinstance(config, dict) and KEY in config


def kind_of(config: JSON) -> JSON:
    """The name of a distribution, `normal` for `gaussian`; None if `config` is no distribution."""
    name = config.get(KEY)
    return "normal" if name == "gaussian" else name


@dataclass(frozen=True, slots=True)
class _End:
    """Draws one end of each uniform distribution."""

    at: float

    def random(self) -> float:
        return self.at

    def standard_normal(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class _Kind:
    parameters: tuple[str, ...]
    check: Callable[[Parameters, str], None]
    draw: Callable[[Parameters, Draws], JSON]
    needs_all: bool = True


def _draw_uniform(parameters: Parameters, generator: Draws) -> JSON:
    u = generator.random()
    return _each(lambda low, high: low + (high - low) * u, parameters["low"], parameters["high"])


def _draw_normal(parameters: Parameters, generator: Draws) -> JSON:
    return _each(
        lambda mean, std: mean + std * generator.standard_normal(),
        parameters["mean"],
        parameters["std"],
    )


def _draw_color(parameters: Parameters, generator: Draws) -> JSON:
    hue, saturation, lightness = (
        low + (high - low) * generator.random()
        for low, high in (parameters.get(name, _WHOLE) for name in _RANGES)
    )
    return [round(255 * each) for each in colorsys.hls_to_rgb(hue, lightness, saturation)]


def _each(draw: Callable[[float, float], float], one: JSON, other: JSON) -> JSON:
    if isinstance(one, list):
        return [_each(draw, *pair) for pair in zip(one, other, strict=True)]
    sampled = draw(one, other)
    return round(sampled) if isinstance(one, int) else sampled


def _check(config: Parameters, path: str) -> None:
    name = config[KEY]
    if not isinstance(name, str) or name not in _KINDS:
        raise ConfigError(path, str(UnknownName("distribution", str(name), _KINDS)))
    kind = _KINDS[name]
    got = [key for key in config if key != KEY]
    lacks = kind.needs_all and set(kind.parameters) - set(got)
    if lacks or set(got) - set(kind.parameters):
        wanted = ", ".join(kind.parameters)
        raise ConfigError(path, f"a {name} distribution has {wanted}; got {', '.join(got)}")
    kind.check(config, path)


def _check_uniform(parameters: Parameters, path: str) -> None:
    for low, high in _pairs(parameters["low"], parameters["high"], path):
        if low > high:
            raise ConfigError(path, got=f"low {low} and high {high}", wanted="low ≤ high")
        if not is_finite(high - low):
            raise ConfigError(
                path, got=f"low {low} and high {high}", wanted="a difference that a float can hold"
            )


def _check_normal(parameters: Parameters, path: str) -> None:
    for _, std in _pairs(parameters["mean"], parameters["std"], path):
        if std < 0:
            raise ConfigError(path, got=f"std {std}", wanted="0 or more")


def _check_color(parameters: Parameters, path: str) -> None:
    for name in _RANGES:
        got = parameters.get(name, _WHOLE)
        is_pair = isinstance(got, list) and len(got) == 2 and all(map(is_finite, got))
        in_bounds = is_pair and (name == "hrange" or 0 <= got[0] <= got[1] <= 1)
        if not in_bounds or got[0] > got[1]:
            bounds = "low ≤ high" if name == "hrange" else "0 ≤ low ≤ high ≤ 1"
            raise ConfigError(inside(path, name), got=got, wanted=f"[low, high] with {bounds}")


def _pairs(one: JSON, other: JSON, path: str) -> Sequence[tuple[float, float]]:
    """Pairs of numbers. Raises ConfigError unless both are numbers, or lists of equal shape."""
    if is_finite(one) and is_finite(other):
        return [(one, other)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            pair
            for place, (first, second) in enumerate(zip(one, other, strict=True))
            for pair in _pairs(first, second, inside(path, place))
        ]
    wanted = "two finite numbers or lists of one length"
    raise ConfigError(path, got=f"{one} and {other}", wanted=wanted)


_RANGES = ("hrange", "srange", "lrange")
_WHOLE = [0.0, 1.0]

_NORMAL = _Kind(("mean", "std"), _check_normal, _draw_normal)
_KINDS: Mapping[str, _Kind] = {
    "uniform": _Kind(("low", "high"), _check_uniform, _draw_uniform),
    "normal": _NORMAL,
    "gaussian": _NORMAL,
    "color": _Kind(_RANGES, _check_color, _draw_color, needs_all=False),
}

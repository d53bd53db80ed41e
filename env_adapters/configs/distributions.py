"""Distributions in configs: a dict with the key `distribution` stands for what is drawn of it.

- `uniform`: `low` and `high`, numbers or lists of one length. One draw for a whole list:
  `low + (high - low) × u`. To have entries of their own, make each a distribution.
- `normal` (also `gaussian`): `mean` and `std`; entries of a list are drawn one by one.
- `color`: `hrange`, `srange`, `lrange`, each `[low, high]` within 0 to 1: hue, saturation and
  lightness, each uniform; what is drawn is `[red, green, blue]`, whole numbers of 0 to 255.

A number is whole where `low` or `mean` is: it is rounded, half to even.

Source: Meta Arcade, "Parameter Distributions". There every reading draws anew, from global
generators; here a config is drawn once an episode, from the episode's own.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from env_adapters.configs.values import JSON, inside, is_finite, told
from reglue.errors import UnknownName, UsageError

KEY = "distribution"

Parameters = Mapping[str, JSON]


def sample(config: JSON, generator: np.random.Generator) -> JSON:
    """A copy in which each distribution is replaced by a draw.

    Drawn in the order in which the config lists them. The config must have passed
    `check_distributions`.
    """
    if is_distribution(config):
        return _KINDS[config[KEY]].draw(config, generator)
    if isinstance(config, dict):
        return {key: sample(value, generator) for key, value in config.items()}
    if isinstance(config, list):
        return [sample(value, generator) for value in config]
    return config


def check_distributions(config: JSON, path: str = "") -> None:
    """Raise UsageError for a distribution that cannot be drawn from, and say which.

    `path` is where the config stands in a larger one.
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
    """Whether it stands for what is drawn."""
    return isinstance(config, dict) and KEY in config


@dataclass(frozen=True, slots=True)
class _Kind:
    parameters: tuple[str, ...]
    check: Callable[[Parameters, str], None]
    draw: Callable[[Parameters, np.random.Generator], JSON]


def _draw_uniform(parameters: Parameters, generator: np.random.Generator) -> JSON:
    u = generator.random()
    return _each(lambda low, high: low + (high - low) * u, parameters["low"], parameters["high"])


def _draw_normal(parameters: Parameters, generator: np.random.Generator) -> JSON:
    return _each(
        lambda mean, std: mean + std * generator.standard_normal(),
        parameters["mean"],
        parameters["std"],
    )


def _draw_color(parameters: Parameters, generator: np.random.Generator) -> JSON:
    hue, saturation, lightness = (
        low + (high - low) * generator.random()
        for low, high in (parameters[name] for name in _KINDS["color"].parameters)
    )
    return [round(255 * each) for each in colorsys.hls_to_rgb(hue, lightness, saturation)]


def _each(draw: Callable[[float, float], float], one: JSON, other: JSON) -> JSON:
    if isinstance(one, list):
        return [_each(draw, *pair) for pair in zip(one, other, strict=True)]
    drawn = draw(one, other)
    return round(drawn) if isinstance(one, int) else drawn


def _check(config: Parameters, path: str) -> None:
    name = config[KEY]
    if not isinstance(name, str) or name not in _KINDS:
        raise UnknownName(f"distribution at {told(path)} called", str(name), _KINDS)
    kind = _KINDS[name]
    got = [key for key in config if key != KEY]
    if sorted(got) != sorted(kind.parameters):
        wanted = ", ".join(kind.parameters)
        raise UsageError(f"{told(path)}: a {name} distribution has {wanted}; got {', '.join(got)}")
    kind.check(config, path)


def _check_uniform(parameters: Parameters, path: str) -> None:
    for low, high in _pairs(parameters["low"], parameters["high"], path):
        if low > high:
            raise UsageError(f"{told(path)}: got low {low} and high {high}, wanted low ≤ high")


def _check_normal(parameters: Parameters, path: str) -> None:
    for _, std in _pairs(parameters["mean"], parameters["std"], path):
        if std < 0:
            raise UsageError(f"{told(path)}: got std {std}, wanted 0 or more")


def _check_color(parameters: Parameters, path: str) -> None:
    for name in _KINDS["color"].parameters:
        given = parameters[name]
        fits = isinstance(given, list) and len(given) == 2 and all(map(is_finite, given))
        if not fits or not 0 <= given[0] <= given[1] <= 1:
            wanted = "[low, high] with 0 ≤ low ≤ high ≤ 1"
            raise UsageError(f"{told(inside(path, name))}: got {given}, wanted {wanted}")


def _pairs(one: JSON, other: JSON, path: str) -> Sequence[tuple[float, float]]:
    """Number by number. Raises UsageError unless both are numbers, or lists alike."""
    if is_finite(one) and is_finite(other):
        return [(one, other)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            pair
            for place, (first, second) in enumerate(zip(one, other, strict=True))
            for pair in _pairs(first, second, inside(path, place))
        ]
    raise UsageError(
        f"{told(path)}: got {one} and {other}, wanted two finite numbers or lists of one length"
    )


_NORMAL = _Kind(("mean", "std"), _check_normal, _draw_normal)
_KINDS: Mapping[str, _Kind] = {
    "uniform": _Kind(("low", "high"), _check_uniform, _draw_uniform),
    "normal": _NORMAL,
    "gaussian": _NORMAL,
    "color": _Kind(("hrange", "srange", "lrange"), _check_color, _draw_color),
}

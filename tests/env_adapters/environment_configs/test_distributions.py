"""Draws from the distributions in a config."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from env_adapters.environment_configs import check_distributions, sample
from env_adapters.environment_configs.distributions import extremes
from env_adapters.environment_configs.values import ConfigError
from tests.error_facts import raises


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def uniform(low: Any, high: Any) -> dict[str, Any]:
    return {"distribution": "uniform", "low": low, "high": high}


def normal(mean: Any, std: Any, name: str = "normal") -> dict[str, Any]:
    return {"distribution": name, "mean": mean, "std": std}


def test_what_is_no_distribution_stays() -> None:
    config = {"a": 1, "b": [True, None, {"c": "x"}], "d": 2.5}
    check_distributions(config)
    drawn = sample(config, rng())
    assert drawn == config
    assert drawn["b"] is not config["b"]


def test_a_uniform_draw_is_shared_over_a_list() -> None:
    drawn = sample(uniform([0.0, 10.0], [1.0, 20.0]), rng())
    assert drawn[1] == 10 + 10 * drawn[0]
    assert 0 <= drawn[0] < 1


def test_entries_of_a_normal_are_drawn_one_by_one() -> None:
    one, other = sample(normal([0.0, 0.0], [1.0, 1.0]), rng())
    assert one != other
    assert sample(normal(3.0, 0, "gaussian"), rng()) == 3.0


def test_the_first_parameter_says_whether_numbers_are_whole() -> None:
    assert {sample(uniform(0, 3), rng(seed)) for seed in range(60)} == {0, 1, 2, 3}
    assert isinstance(sample(uniform(0.0, 3), rng()), float)
    assert isinstance(sample(normal(128, 60.5), rng()), int)


def test_the_order_of_keys_changes_no_draw() -> None:
    config = {"speed": uniform(0.0, 1.0), "ball": {"size": normal(2.0, 1.0), "at": uniform(0, 9)}}
    turned = {"ball": dict(reversed(config["ball"].items())), "speed": config["speed"]}
    assert sample(turned, rng()) == sample(config, rng())


def test_a_uniform_covers_its_range_evenly() -> None:
    generator = rng()
    draws = [sample(uniform(2.0, 4.0), generator) for _ in range(4000)]
    assert min(draws) >= 2.0
    assert max(draws) < 4.0
    counts, _ = np.histogram(draws, 4, (2.0, 4.0))
    assert counts.min() > 900


def test_a_normal_has_its_mean_and_spread() -> None:
    generator = rng()
    draws = [sample(normal(5.0, 2.0), generator) for _ in range(4000)]
    assert np.mean(draws) == pytest.approx(5.0, abs=0.15)
    assert np.std(draws) == pytest.approx(2.0, abs=0.15)


def test_colours_lie_in_their_ranges() -> None:
    red = {"distribution": "color", "hrange": [0, 0], "srange": [1, 1], "lrange": [0.5, 0.5]}
    assert sample(red, rng()) == [255, 0, 0]
    grey = {"distribution": "color", "hrange": [0, 1], "srange": [0, 0], "lrange": [0, 1]}
    drawn = sample(grey, rng())
    assert drawn == [drawn[0]] * 3


def test_a_range_of_colours_that_is_left_out_is_whole() -> None:
    whole: dict[str, Any] = {"hrange": [0, 1], "srange": [0, 1], "lrange": [0, 1]}
    for left_out in ([], ["hrange"], ["srange", "lrange"], list(whole)):
        given = {name: whole[name] for name in whole if name not in left_out}
        config = {"distribution": "color", **given}
        check_distributions(config)
        assert sample(config, rng(5)) == sample({"distribution": "color", **whole}, rng(5))


def test_hue_goes_round() -> None:
    pure = {"srange": [1, 1], "lrange": [0.5, 0.5]}
    about_red = {"distribution": "color", "hrange": [0.9, 1.1], **pure}
    check_distributions(about_red)
    for seed in range(20):
        red, green, blue = sample(about_red, rng(seed))
        assert red == 255
        assert min(green, blue) == 0
    assert sample({**about_red, "hrange": [-0.5, -0.5]}, rng()) == [0, 255, 255]


def test_the_extremes_are_the_ends_of_what_may_be_drawn() -> None:
    config = {
        "a": uniform(1, 4),
        "b": [normal(2.0, 9.0), "x"],
        "c": uniform([0.0, 1.0], [2.0, 1.0]),
    }
    assert extremes(config) == [
        {"a": 1, "b": [2.0, "x"], "c": [0.0, 1.0]},
        {"a": 4, "b": [2.0, "x"], "c": [2.0, 1.0]},
    ]
    assert extremes({"a": 1}) == [{"a": 1}]


def test_draws_follow_from_the_generator_alone() -> None:
    config = {"a": uniform(0.0, 1.0), "b": [normal(0.0, 1.0), {"c": uniform(0.0, 1.0)}]}
    assert sample(config, rng(3)) == sample(config, rng(3)) != sample(config, rng(4))


@pytest.mark.parametrize(
    ("config", "path", "named"),
    [
        ({"a": {"distribution": "unifrom"}}, "a", ["'unifrom'", "uniform"]),
        ({"distribution": ["uniform"]}, "", [["uniform"]]),
        ([{"distribution": "uniform", "low": 0}], "[0]", ["uniform", "low, high", "low"]),
        (uniform(0, 1) | {"seed": 1}, "", ["low, high", "low, high, seed"]),
        (uniform(2, 1), "", ["low 2", "high 1"]),
        (uniform([0, 0], [1]), "", [[0, 0], [1], "one length"]),
        (uniform(0, float("nan")), "", [0, "nan", "finite"]),
        (uniform(0, 10**400), "", [0, 10**400, "finite"]),
        (uniform(-1e308, 1e308), "", ["low -1e+308", "high 1e+308", "difference"]),
        ({"distribution": "color", "hrange": [0.9, 0.1]}, "hrange", [[0.9, 0.1], "low ≤ high"]),
        ({"distribution": "color", "hue": [0, 1]}, "", ["hrange, srange, lrange", "hue"]),
        ({"x": normal([0, 0], [1, -1])}, "x", ["std -1"]),
        (normal(True, 1), "", [True, 1, "finite"]),
        (
            {"distribution": "color", "hrange": [0, 2], "srange": [0, 2], "lrange": [0, 1]},
            "srange",
            [[0, 2], "0 ≤ low ≤ high ≤ 1"],
        ),
    ],
)
def test_what_cannot_be_drawn_from_is_refused_with_its_place(
    config: Any, path: str, named: list[Any]
) -> None:
    with raises(ConfigError, *named, path=path):
        check_distributions(config)

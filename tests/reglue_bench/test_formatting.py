"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue_bench.formatting import (
    number,
    percent,
    percents,
    points,
    signed,
    sparkline,
    value,
    values,
)
from reglue_competition.page.views.charts import _tick


@pytest.mark.parametrize("tiny", [-0.0, -1e-9])
def test_there_is_no_minus_zero(tiny: float) -> None:
    told = [
        percent(tiny),
        percents((tiny, 0.235)),
        points(tiny),
        value(-0.0),
        values((-0.0, -0.0)),
        signed(-0.0),
        number(-0.0),
        _tick(tiny, 1.0),
    ]
    assert not [words for words in told if {"-", "−"} & set(words)]
    assert told[0] == "0.0 %"


def test_large_and_small_numbers_have_an_exponent() -> None:
    assert number(1e30) == "1.000e+30"
    assert (number(1e-320), value(-1e-320)) == ("1.000e-320", "−1.000e−320")
    assert number(-1.7e308) == "-1.700e+308"
    assert (number(999_999_999_999_999.0), number(1e15)) == ("999,999,999,999,999", "1.000e+15")
    assert (number(1e-6), number(9e-7)) == ("0.000001", "9.000e-07")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.data())
def test_any_finite_numbers_make_a_line_of_bars(values: list[float], data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(*[st.sampled_from(values)] * 2)))
    assert len(sparkline(values, low=low, high=high, width=20)) == min(20, len(values))


def test_minus_is_a_minus_on_the_page() -> None:
    assert percents((-0.31, -0.002)) == "−31.0 to −0.2 %"
    assert (points(-0.021), points(0.021)) == ("−2.1", "+2.1")
    assert signed(-1.5) == "−1.500"
    assert number(-131.54) == "-131.5"

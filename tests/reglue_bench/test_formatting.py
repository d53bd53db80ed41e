"""Numbers as people read them."""

from __future__ import annotations

import pytest

from reglue_bench.formatting import number, percent, percents, points, signed, value, values
from reglue_competition.page.views.charts import _tick


@pytest.mark.parametrize("tiny", [-0.0, -1e-9])
def test_there_is_no_minus_zero(tiny: float) -> None:
    told = [
        percent(tiny),
        percents((tiny, 0.235)),
        points(tiny),
        value(tiny),
        values((tiny, tiny)),
        signed(tiny),
        number(tiny),
        _tick(tiny, 1.0),
    ]
    assert not [words for words in told if {"-", "−"} & set(words)]
    assert told[0] == "0.0 %"


def test_minus_is_a_minus_on_the_page() -> None:
    assert percents((-0.31, -0.002)) == "−31.0 to −0.2 %"
    assert (points(-0.021), points(0.021)) == ("−2.1", "+2.1")
    assert signed(-1.5) == "−1.500"
    assert number(-131.54) == "-131.5"

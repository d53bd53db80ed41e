"""The page about scaling, and its measurements."""

from __future__ import annotations

import pytest

from speed.launches import run
from speed.scaling.scaling_model import fitted, left_out


@pytest.mark.parametrize(("shards", "runs", "episodes"), [(2, 5, 3), (7, 30, 1)])
def test_every_row_of_idle_shards_is_recorded(shards: int, runs: int, episodes: int) -> None:
    words = [str(each) for each in (shards, runs, episodes, 4)]
    found = run("speed.scaling.coordinator", *words).found
    assert found["rows"] == runs * episodes
    assert found["cpu_s"] > 0


def test_a_model_finds_what_it_was_made_of() -> None:
    waves = {1: 24, 2: 12, 3: 8, 5: 5, 8: 3}
    model = fitted(24, {nodes: 7.0 + 0.5 * nodes + 2.5 * each for nodes, each in waves.items()})
    assert (model.start_s, model.node_s, model.run_s) == pytest.approx((7.0, 0.5, 2.5))
    assert model.seconds(24, 7) == pytest.approx(7.0 + 7 * 0.5 + 4 * 2.5)


def test_an_error_is_that_of_a_model_which_did_not_know() -> None:
    seconds = {1: 24.0, 2: 12.0, 3: 8.0, 4: 60.0}
    assert left_out(24, seconds)[4] == pytest.approx(6.0)

"""Stable-Baselines3's PPO trains through the view, and is judged meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from docs.examples.sb3_reach import evaluate, train

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_short_run_trains_and_is_judged(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = train(1000, 1000, str(tmp_path), goals=2)
    finally:
        torch.set_num_threads(threads)
    assert found.last_result is not None
    assert found.last_result.complete
    assert found.best_mean_reward > 0
    again = evaluate(str(tmp_path), goals=2)
    assert again.mean_return == found.best_mean_reward

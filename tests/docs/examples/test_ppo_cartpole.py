"""PPO on CartPole learns."""

from __future__ import annotations

import pytest
import torch

from docs.examples.ppo_cartpole import ActorCritic, Settings, mean_return, train

pytestmark = pytest.mark.slow


def test_a_short_run_learns(capsys: pytest.CaptureFixture[str]) -> None:
    """A whole run ends at 500; a policy that chooses at random stands for about 20 steps."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(0)
        assert mean_return(ActorCritic(4, 2), episodes=8) < 60
        assert mean_return(train(Settings(steps=8000, passes=10)), episodes=8) > 80
    finally:
        torch.set_num_threads(threads)
    assert "mean return" in capsys.readouterr().out

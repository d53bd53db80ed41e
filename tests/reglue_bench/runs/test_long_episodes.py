"""People who wait for an episode that may have no end are told so, once a run."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import reglue
from glue_server.episodes import recording
from reglue_bench.runs.observer import NullObserver


class Endless(gymnasium.Env[Any, Any]):
    """Has neither a goal nor a time limit."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 0.0, False, False, {}


class Hears(NullObserver):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize(("steps", "times"), [(99, 0), (130, 1)])
def test_it_is_said_once_that_an_episode_is_long(
    steps: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recording.LONG_STEPS == 10_000
    monkeypatch.setattr(recording, "LONG_STEPS", 100)
    hears = Hears()
    result = reglue.evaluate(
        Endless,
        agent=lambda seen: np.zeros(len(seen), int),
        num_episodes=3,
        slots=1,
        episode_limit=steps,
        watcher=hears,
    )
    assert [row.steps for row in result.episodes] == [steps] * 3
    assert len([text for text in hears.said if "an episode has had" in text]) == times

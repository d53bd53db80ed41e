"""The example of a meta-learner, docs/examples/maml_reach.py, in a loop of two small trials."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from reglue_bench import evaluate

FILE = Path(__file__).parents[3] / "docs" / "examples" / "maml_reach.py"


def maml() -> Any:
    spec = importlib.util.spec_from_file_location("maml_reach", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Maml()


def test_the_example_meta_trains_on_the_train_split_and_is_judged_on_the_test_split() -> None:
    """Two trials of three episodes in each slot: an outer update after each."""
    agent = maml()
    result = evaluate(
        "ML1:reach-v3",
        agent=agent,
        train_steps=2 * 2 * 4 * 10,
        meta_batch_size=2,
        episode_horizon=10,
        adaptation_episodes=2,
        evaluation_episodes=2,
        num_evals=1,
        workers=0,
    )
    assert result.training is not None
    assert result.training.steps_taken == 160
    assert agent.updates == 2
    assert np.linalg.norm(agent.theta) > 0
    assert result.complete
    assert {row.task for row in result.episodes if row.phase == "train"} == {"train/reach-v3"}

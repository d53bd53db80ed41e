"""A program that owns its loop trains through the Gymnasium view, and is judged in one run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from reglue_bench import evaluate

LOOP = """
import numpy as np
import reglue
from reglue.errors import TrainingOver

def lean(observations):
    return (observations[:, 2] + observations[:, 3] > 0).astype(int)

envs = reglue.make_vec(benchmark="evaluate:cart-pole", num_envs=3)
envs.reset()
chance, steps = np.random.default_rng(0), 0
try:
    while True:
        *_, infos = envs.step(chance.integers(2, size=3))
        steps += 3 - int(np.sum(infos.get("idle", 0)))
except TrainingOver:
    envs.unwrapped.evaluate(lean)
"""


def test_a_loop_trains_until_the_glue_says_that_it_is_over(tmp_path: Path) -> None:
    """Its steps are counted exactly, and what is judged is what it gives to `evaluate`."""
    (tmp_path / "loop.py").write_text(LOOP, encoding="utf-8")
    result = evaluate(
        "evaluate:cart-pole",
        agent=None,
        agent_cmd=f"{sys.executable} {shlex.quote(str(tmp_path / 'loop.py'))}",
        out=tmp_path / "run",
        train_steps=200,
        num_episodes=4,
        slots=3,
        workers=0,
    )
    assert result.training is not None
    log = (tmp_path / "run" / "agent.log").read_text(encoding="utf-8")
    assert result.training.steps_taken == 200, log
    assert result.complete, log
    assert result.score.value is not None
    assert result.score.value > 150  # of a policy that leans; a random one earns about 20

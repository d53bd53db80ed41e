"""A batch of a size of its own plays in all of its slots, unless somebody says how many."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import reglue
from reglue.errors import UsageError
from tests.error_facts import raises

SLOTS = 12  # more than benchmarks play by default


def batch(num_envs: int = SLOTS) -> Any:
    return gymnasium.make_vec(
        "CartPole-v1", num_envs=num_envs, vectorization_mode="vector_entry_point"
    )


def first_rows(benchmark: object, **options: Any) -> int:
    """The number of episodes in the agent's first turn."""
    rows: list[int] = []

    def act(observations: Any) -> Any:
        rows.append(len(observations))
        return np.zeros(len(observations), np.int64)

    reglue.evaluate(benchmark, agent=act, num_episodes=30, **options)
    return rows[0]


def test_an_object_plays_in_all_of_its_slots() -> None:
    assert first_rows(batch()) == SLOTS
    assert first_rows(batch(), slots=5) == 5
    with closing(reglue.make_vec(batch())) as envs:
        assert envs.reset(seed=0)[0].shape == (SLOTS, 4)
    with closing(reglue.make_vec(batch(), num_envs=5)) as envs:
        assert envs.reset(seed=0)[0].shape == (5, 4)


def test_a_function_without_a_number_does_too(tmp_path: Path) -> None:
    code = "import gymnasium\ndef twelve():\n    return gymnasium.make_vec('CartPole-v1', "
    code += "num_envs=12, vectorization_mode='vector_entry_point')\n"
    (tmp_path / "twelve.py").write_text(code)
    name = f"evaluate:{tmp_path}/twelve.py:twelve"
    assert first_rows(name) == SLOTS
    with raises(UsageError, "slots", 13, SLOTS):
        first_rows(name, slots=13)


@pytest.mark.parametrize("slots", [1, 3])
def test_one_that_is_made_in_any_size_plays_as_many_as_others(slots: int) -> None:
    assert first_rows(batch, slots=slots) == slots
    with closing(reglue.make_vec(batch, num_envs=slots)) as envs:
        assert envs.reset(seed=0)[0].shape == (slots, 4)

"""A sentence for each task."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from env_adapters.metaworld import MetaWorld
from env_adapters.metaworld.instructions import INSTRUCTION_BYTES, INSTRUCTIONS
from reglue.agents.metaworld import ALL_TASKS
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell

GOALS = {
    "reach-v3": [[0.0, 0.6, 0.02, 0.0, 0.85, 0.2]],
    "drawer-close-v3": [[0.0, 0.9, 0.0]],
}


def suite(**options: Any) -> MetaWorld:
    return MetaWorld(goals=GOALS, goal_visible=True, **options)


def test_each_task_has_one_of_its_own_without_its_name() -> None:
    assert tuple(sorted(INSTRUCTIONS)) == ALL_TASKS
    assert len(set(INSTRUCTIONS.values())) == len(ALL_TASKS)
    for text in INSTRUCTIONS.values():
        assert text.isascii()
        assert text == text.strip().lower()
        assert not text.endswith(".")


def test_it_is_an_observation_of_utf8_with_zeros_behind() -> None:
    made = suite(instruction=True)
    world = made.world()
    assert [tensor.name for tensor in made.spec.observations] == ["observation", "instruction"]
    assert made.spec.observations[1].shape == (INSTRUCTION_BYTES,)
    for task in GOALS:
        row = world.start(Cell(task=task, variant=0, seed=0, repeat=0, phase=Phase.TRAIN))
        text = bytes(row["instruction"]).rstrip(b"\0").decode()
        assert text == INSTRUCTIONS[task]
        step = world.step({"action": np.zeros(4, np.float32)})
        assert bytes(step.observation["instruction"]) == bytes(row["instruction"])


def test_the_spec_does_not_tell_which_tasks_are_played() -> None:
    one = MetaWorld(goals={"reach-v3": GOALS["reach-v3"]}, goal_visible=True, instruction=True)
    assert one.spec == suite(instruction=True).spec


def test_without_it_nothing_names_the_task() -> None:
    made = suite()
    row = made.world().start(Cell(task="reach-v3", variant=0, seed=0, repeat=0, phase=Phase.TRAIN))
    assert set(row) == {"observation"}
    assert "reach" not in json.dumps(repr(made.spec))

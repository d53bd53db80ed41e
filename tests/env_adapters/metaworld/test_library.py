"""Shortcuts are taken only with the sources that they were tested with, and change no bit."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.disk_cache import DiskCache
from env_adapters.metaworld.resets import Resets, SettledStates
from env_adapters.metaworld.shared_env import Models
from env_adapters.mujoco import IntegrationState
from tests.programs import run_python

PROGRAM = """
import hashlib, json
import mujoco, numpy as np

substeps, step = [], mujoco.mj_step
def count(model, data, nstep=1):
    substeps.append(nstep)
    step(model, data, nstep=nstep)
mujoco.mj_step = count

from env_adapters.metaworld import MetaWorld, draw_goals, task_set, task_sets
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell

task_sets.VARIANTS = 5  # drawing fifty goals by resets takes minutes
bits = hashlib.sha256()
for name in ("MT10", "MT25", "MT50"):
    bits.update(repr(task_set(name).tasks).encode())
for name in ("ML10", "ML25", "ML45"):
    for split in ("train", "test"):
        bits.update(repr(task_set(name, split).tasks).encode())
goals = {}
for name in ("MT1:push-v3", "MT1:door-open-v3", "ML1:stick-push-v3", "MT1:box-close-v3"):
    goals |= draw_goals(task_set(name), 3)
bits.update(repr(goals).encode())
drawing = sum(substeps)

suite = MetaWorld(goals=goals, goal_visible=True)
rng = np.random.Generator(np.random.Philox(1))
for task in goals:
    worlds = [suite.world(), suite.world()]
    for variants in ((0, 1), (1, 0)):
        for world, variant in zip(worlds, variants):
            first = world.start(Cell(task, variant, 0, 0, Phase.ADAPT))
            bits.update(first["observation"].tobytes())
        for number in range(12):
            action = {"action": rng.uniform(-1.5, 1.5, 4).astype(np.float32)}
            for world in worlds:
                taken = world.step(action)
                bits.update(taken.observation["observation"].tobytes())
                bits.update(np.float64(taken.reward).tobytes() + bytes([taken.success]))
            if number == 5:
                state = worlds[0].get_state()
        worlds[1].set_state(state)
    for world in worlds:
        world.close()
print(json.dumps({"bits": bits.hexdigest(), "drawing": drawing, "all": sum(substeps)}))
"""


def run(folder: Path, *first: Path) -> tuple[Mapping[str, Any], str]:
    """The output of PROGRAM, and its log; packages are looked for in `first` before all others."""
    paths = os.pathsep.join([*map(str, first), *filter(None, sys.path)])
    done = run_python(PROGRAM, PYTHONPATH=paths, REGLUE_CACHE_DIR=str(folder))
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def changed_metaworld(tmp_path: Path) -> Path:
    """A folder with a metaworld of which one source has one comment more."""
    spec = find_spec("metaworld")
    assert spec is not None
    assert spec.origin is not None
    folder = tmp_path / "packages"
    shutil.copytree(Path(spec.origin).parent, folder / "metaworld", copy_function=os.symlink)
    source = folder / "metaworld" / "envs" / "sawyer_push_v3.py"
    text = source.read_text()
    source.unlink()
    source.write_text(text + "# a comment\n")
    return folder


@pytest.mark.slow
def test_one_changed_line_of_metaworld_turns_all_shortcuts_off_and_changes_no_bit(
    tmp_path: Path, changed_metaworld: Path
) -> None:
    shortcuts, silent = run(tmp_path / "one")
    plain, told = run(tmp_path / "other", changed_metaworld)
    assert shortcuts["bits"] == plain["bits"]
    goals, starts, settling = 4 * 5, 4 * 4, 2 * 250
    assert shortcuts["drawing"] == 0
    assert shortcuts["all"] < 2 * starts * settling / 3
    assert plain["drawing"] >= goals * settling
    assert plain["all"] - plain["drawing"] >= starts * settling
    assert "Meta-World is played without shortcuts" not in silent
    assert told.count("Meta-World is played without shortcuts") == 1


@pytest.mark.parametrize(
    ("name", "value"), [("hand_init_pos", np.array([0.05, 0.55, 0.25])), ("frame_skip", 2)]
)
def test_a_hand_that_settles_otherwise_does_not_come_to_rest_where_others_do(
    name: str, value: Any, plain: Callable[[str], Any], draw_two: Any, tmp_path: Path
) -> None:
    """Within the process and on disk."""
    goal = draw_two("push-v3")[0]
    cache = DiskCache(tmp_path)
    settled_states, models = SettledStates(cache), Models(cache)

    def start(settled_states: SettledStates, **attributes: Any) -> Any:
        env, _ = models.environment("push-v3")
        vars(env).update(attributes)
        return Resets(env, IntegrationState(env), settled_states).start(goal, goal_visible=True)

    usual = start(settled_states)
    wanted = start(SettledStates(DiskCache(None)), **{name: value})
    assert wanted.tobytes() != usual.tobytes()
    assert start(settled_states, **{name: value}).tobytes() == wanted.tobytes()
    assert start(SettledStates(cache), **{name: value}).tobytes() == wanted.tobytes()
    assert start(SettledStates(cache)).tobytes() == usual.tobytes()

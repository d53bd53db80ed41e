"""The suite's promises; its observations are upstream's wrappers' to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell, SuiteName
from env_adapters.metaworld import ALL_TASKS, MetaWorld, catalogue, task_set, task_sets
from env_adapters.metaworld.library import metaworld
from env_adapters.metaworld.shared_env import Models
from reglue.errors import BadArgument, MissingExtra, UnknownName
from reglue.messages.agent_messages import Phase
from reglue.spec import Box, Discrete, TensorSpec
from tests.error_facts import raises
from tests.programs import run_python

REACH = {"reach-v3": [[-0.05, 0.65, 0.02, 0.08, 0.85, 0.2]]}
PAIR = REACH | {"door-open-v3": [[0.05, 0.9, 0.15]]}
STILL = {"action": np.zeros(4, np.float32)}


def cell(task: str) -> Cell:
    return Cell(task, 0, seed=0, repeat=0, phase=Phase.EVALUATE)


def test_observations_are_39_unbounded_float64() -> None:
    spec = MetaWorld(goals=REACH, goal_visible=True).spec
    assert spec.observations == (TensorSpec("observation", "float64", (39,)),)


def test_actions_are_four_float32_between_minus_one_and_one() -> None:
    spec = MetaWorld(goals=REACH, goal_visible=True).spec
    assert spec.actions == (TensorSpec("action", "float32", (4,), Box((-1.0,), (1.0,))),)


def test_the_spec_says_rewards_and_horizon() -> None:
    spec = MetaWorld(goals=REACH, goal_visible=True, horizon=70).spec
    assert (spec.reward_range, spec.horizon) == ((0.0, 10.0), 70)
    assert not spec.rewards_in_evaluation


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"one_hot": True}, 39 + 2),
        ({"recurrent_info": True}, 39 + 6),
        ({"one_hot": True, "recurrent_info": True}, 39 + 2 + 6),
    ],
)
def test_observations_grow_by_what_is_asked_for(options: dict[str, Any], size: int) -> None:
    suite = MetaWorld(goals=PAIR, goal_visible=True, **options)
    first = suite.world().start(cell("reach-v3"))["observation"]
    assert suite.spec.observations[0].shape == first.shape == (size,)


def test_observations_can_be_float32() -> None:
    plain = MetaWorld(goals=REACH, goal_visible=True).world()
    short = MetaWorld(goals=REACH, goal_visible=True, observation_dtype="float32").world()
    expected = plain.start(cell("reach-v3"))["observation"].astype(np.float32)
    first = short.start(cell("reach-v3"))["observation"]
    assert (first.dtype, first.tobytes()) == (expected.dtype, expected.tobytes())


def test_revealed_tasks_are_a_tensor_of_their_own() -> None:
    suite = MetaWorld(goals=PAIR, goal_visible=True, reveal_tasks=True)
    assert suite.spec.observations[1] == TensorSpec("task", "int64", (), Discrete(50))


@pytest.mark.parametrize("task", PAIR)
def test_a_revealed_task_is_its_place_among_all_tasks(task: str) -> None:
    world = MetaWorld(goals=PAIR, goal_visible=True, reveal_tasks=True).world()
    seen = [world.start(cell(task))["task"], world.step(STILL).observation["task"]]
    read = [(each.dtype.name, each.shape, each.item()) for each in seen]
    assert read == [("int64", (), ALL_TASKS.index(task))] * 2


def upstream(task: str, *, goal_visible: bool, one_hot: bool, recurrent_info: bool) -> Any:
    """Meta-World's environment of a task of PAIR in its own wrappers."""
    cls = metaworld().ALL_V3_ENVIRONMENTS[task]
    goal = {"rand_vec": np.array(PAIR[task][0]), "env_cls": cls}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the one-hot's space is float32
        return metaworld()._init_each_env(
            cls,
            [metaworld()._encode_task(task, goal | {"partially_observable": not goal_visible})],
            seed=1,
            max_episode_steps=12,
            terminate_on_success=True,
            use_one_hot=one_hot,
            env_id=list(PAIR).index(task),
            num_tasks=2,
            recurrent_info_in_obs=recurrent_info,
        )


@pytest.mark.parametrize("task", PAIR)
@pytest.mark.parametrize("goal_visible", [True, False])
@pytest.mark.parametrize("one_hot", [True, False])
@pytest.mark.parametrize("recurrent_info", [True, False])
def test_an_episode_has_the_bits_of_upstreams_wrappers(
    task: str, goal_visible: bool, one_hot: bool, recurrent_info: bool
) -> None:
    """Order of the parts, reward's scale, action and end flag."""
    options: dict[str, Any] = {
        "goal_visible": goal_visible,
        "one_hot": one_hot,
        "recurrent_info": recurrent_info,
    }
    actions = np.random.default_rng(2).uniform(-1.5, 1.5, (12, 4)).astype(np.float32)
    wrapped = upstream(task, **options)
    reference = [wrapped.reset()[0].tobytes()]
    for action in actions:
        observation, reward, terminated, truncated, _ = wrapped.step(action)
        reference.append((observation.tobytes(), float(reward), bool(terminated), truncated))

    world = MetaWorld(goals=PAIR, horizon=12, **options).world()
    played: list[Any] = [world.start(cell(task))["observation"].tobytes()]
    for step in (world.step({"action": action}) for action in actions):
        bits = step.observation["observation"].tobytes()
        played.append((bits, step.reward, step.terminated, step.truncated))
    assert played == reference


def test_models_of_few_tasks_are_read_once_before_the_first_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As Meta-World's own environments are made before they are reset."""
    read: list[str] = []
    environment = Models.environment

    def counted(models: Models, task: str) -> Any:
        read.append(task)
        return environment(models, task)

    monkeypatch.setattr(Models, "environment", counted)
    suite = MetaWorld(goals=PAIR, goal_visible=True)
    worlds = [suite.world() for _ in range(4)]
    assert sorted(read) == sorted(PAIR)
    for world, task in zip(worlds, [*PAIR, *PAIR], strict=True):
        world.start(cell(task))
    assert len(read) == 2


def test_models_of_many_tasks_are_read_as_they_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 50 take 1.2 GB."""
    monkeypatch.setattr(Models, "environment", None)  # which cannot be called
    goals = {task: [[0.0, 0.8, 0.2]] for task in ALL_TASKS[:11]}
    MetaWorld(goals=goals, goal_visible=True).world()


def test_a_suite_is_built_by_name_from_json() -> None:
    config = json.loads(json.dumps({"goals": PAIR, "goal_visible": False, "horizon": 9}))
    suite = SuiteName("env_adapters.metaworld:MetaWorld", config).build()
    assert suite.world().start(cell("door-open-v3"))["observation"].shape == (39,)


@pytest.mark.parametrize("horizon", [0, -1, 501, 7.0, "7", True])
def test_a_horizon_that_metaworld_cannot_play_is_refused(horizon: Any) -> None:
    with raises(BadArgument, "1 to 500", got=f"horizon {horizon!r}"):
        MetaWorld(goals=REACH, goal_visible=True, horizon=horizon)


def test_an_unknown_dtype_is_refused() -> None:
    wrong: Any = "float16"
    with raises(BadArgument, "float64", "float32", got="dtype 'float16'"):
        MetaWorld(goals=REACH, goal_visible=True, observation_dtype=wrong)


def test_an_unknown_task_in_the_goals_lists_the_near_ones() -> None:
    with raises(UnknownName, "reach-v3", got="reach"):
        MetaWorld(goals={"reach": [[0.0, 0.0, 0.0]]}, goal_visible=True)


@pytest.mark.parametrize(
    ("goals", "named"),
    [
        ({}, ["goals", "task"]),
        ({"reach-v3": []}, ["reach-v3", "variants", "goal"]),
        ({"reach-v3": [[0.0, 0.1]]}, ["reach-v3", [0.0, 0.1], 3, 6]),
        ({"door-open-v3": [[0.0, 0.1, np.nan]]}, ["door-open-v3", "[0.0, 0.1, nan]"]),
    ],
)
def test_goals_that_cannot_be_played_are_refused(goals: Any, named: list[Any]) -> None:
    with raises(BadArgument, *named):
        MetaWorld(goals=goals, goal_visible=True)


def test_without_metaworld_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_sets, "is_verified", lambda: False)
    monkeypatch.setitem(sys.modules, "metaworld", None)
    monkeypatch.setitem(sys.modules, "metaworld.env_dict", None)
    with raises(MissingExtra, "'reglue[metaworld]'"):
        task_set("MT10")


def test_without_metaworld_there_is_still_a_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "metaworld", None)
    assert "MT10" in catalogue()


def test_importing_the_adapter_loads_no_simulator() -> None:
    program = (
        "import sys, env_adapters.metaworld;"
        "print({'metaworld', 'mujoco', 'gymnasium'} & set(sys.modules))"
    )
    assert run_python(program).stdout == "set()\n"


def test_a_library_for_drawing_that_mujoco_lacks_is_told_before_anything_is_played() -> None:
    program = (
        "from env_adapters.metaworld import MetaWorld\n"
        "MetaWorld(goals={'reach-v3': [[0.0, 0.6, 0.02, 0.1, 0.85, 0.1]]}, goal_visible=True)\n"
    )
    settings = {**os.environ, "MUJOCO_GL": "crayon"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    told = done.stderr.splitlines()[-1]
    assert "reglue.errors.UsageError: MuJoCo cannot be loaded" in told
    assert "MUJOCO_GL is crayon, wanted MUJOCO_GL=egl or MUJOCO_GL=osmesa" in told

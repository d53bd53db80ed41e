"""gymnasium-robotics, Atari, dm_control: cells like any other, and goals where there are any."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.determinism import check_determinism
from env_adapters.goals import FlatGoalEnv, goal_environment
from env_adapters.goals.robotics import family_of
from env_adapters.gymnasium import Gymnasium
from env_adapters.gymnasium_library import make, mujoco
from env_adapters.mujoco import IntegrationState
from reglue.errors import BadArgument, MissingExtra, UnknownName, UsageError
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from tests.env_adapters import dm_control
from tests.env_adapters.goals.goal_programs import answer
from tests.error_facts import raises

pytestmark = pytest.mark.slow

WITH_GOALS = [
    "FetchReach-v4",
    "FetchPush-v4",
    "PointMaze_UMaze-v3",
    "AntMaze_UMaze-v5",
    "HandReach-v3",
    "HandManipulateBlock-v1",
]
DM_CONTROL = "dm_control/cartpole-swingup-v0"
WITHOUT = ["FrankaKitchen-v1", "AdroitHandHammer-v1", *[DM_CONTROL] * dm_control.IS_INSTALLED]
ATARI = "ALE/Pong-v5"


def digest(name: str, goals: int) -> str:
    """Of a suite's episodes, some steps each."""
    suite = Gymnasium(name, goals=goals)
    (action,) = suite.spec.actions
    found = hashlib.sha256()
    with closing(suite.world()) as world:
        for episode in range(2):
            cell = Cell(name, episode % max(goals, 1), 3, episode, Phase.TRAIN)
            seen = [world.start(cell)]
            moves = np.random.default_rng(episode).uniform(-1, 1, (5, *action.shape))
            steps = (world.step({action.name: move}) for move in moves.astype(action.dtype))
            seen.extend(step.observation for step in steps)
            for arrays in seen:
                found.update(b"".join(array.tobytes() for array in arrays.values()))
    return found.hexdigest()


@pytest.mark.parametrize("name", WITH_GOALS)
def test_an_episode_with_a_goal_is_a_function_of_its_cell(name: str) -> None:
    check_determinism(Gymnasium(name, goals=3), episodes=2, steps=10)


@pytest.mark.parametrize(
    ("name", "episodes"),
    [
        *((name, 2) for name in [*WITHOUT[1:], "HandManipulateBlock-v1"]),
        (WITHOUT[0], 1),
        (ATARI, 1),
    ],
)
def test_an_episode_is_a_function_of_its_cell(name: str, episodes: int) -> None:
    """One episode of those that take long to make: begun twice, and beside another world."""
    check_determinism(Gymnasium(name), episodes=episodes, steps=5)


def test_another_process_plays_the_same() -> None:
    asked = [*((name, 3) for name in WITH_GOALS), *((name, 0) for name in WITHOUT)]
    program = f"""
import json
from tests.env_adapters.goals.test_robotics import digest
print(json.dumps([digest(name, goals) for name, goals in {asked}]))
"""
    assert answer(program) == [digest(name, goals) for name, goals in asked]


@pytest.mark.parametrize("name", WITH_GOALS)
def test_goals_are_read_drawn_set_and_fixed(name: str) -> None:
    """Once there was a reset."""
    env = goal_environment(make(name, {}))
    with raises(UsageError, "goal", "reset"):
        env.get_goal()
    with raises(BadArgument, "n -1", 0):
        env.sample_goals(-1)
    observation, _ = env.reset(seed=1)
    assert (env.get_goal()["desired_goal"] == observation["desired_goal"]).all()
    goals = env.sample_goals(4)["desired_goal"]
    assert goals.shape == (4, *observation["desired_goal"].shape)
    assert len(np.unique(goals, axis=0)) > 1
    env.set_goal(goals[3])
    stepped = env.step(env.action_space.sample())[0]
    assert (stepped["desired_goal"] == goals[3]).all()
    env.fixed_goal = goals[2]
    assert (env.reset(seed=2)[0]["desired_goal"] == goals[2]).all()
    assert (env.sample_goals(2)["desired_goal"] == goals[2]).all()
    with raises(BadArgument, "goal", "Box"):
        env.set_goal(goals[2][:-1])
    env.close()


@pytest.mark.parametrize("name", ["FetchReach-v4", "PointMaze_UMaze-v3", "Reglue/Point2D-v0"])
def test_a_fixed_goal_is_a_parameter_of_every_goal_environment(name: str) -> None:
    drawn = goal_environment(name)
    drawn.reset(seed=1)
    goal = drawn.sample_goals(1)["desired_goal"][0]
    drawn.close()
    env = goal_environment(name, fixed_goal=goal.tolist(), max_episode_steps=3)
    for seed in range(3):
        assert (env.reset(seed=seed)[0]["desired_goal"] == goal).all()
    assert [env.step(env.action_space.sample())[3] for _ in range(3)] == [False, False, True]
    env.close()
    with closing(Gymnasium(name, fixed_goal=goal.tolist()).world()) as world:
        for repeat in range(2):
            first = world.start(Cell(name, 0, 5, repeat, Phase.TRAIN))
            assert (first["desired_goal"] == goal).all()


def test_a_fixed_goal_that_cannot_be_is_refused() -> None:
    with raises(BadArgument, "goal [0.0]", "Box(-inf, inf, (3,), float64)"):
        Gymnasium("FetchReach-v4", fixed_goal=[0.0])


@pytest.mark.filterwarnings("ignore:.*(is different from the unwrapped|is probably too)")
@pytest.mark.parametrize("name", [*WITH_GOALS, "FrankaKitchen-v1"])
def test_gymnasiums_checker_passes(name: str) -> None:
    """It also makes the environment anew, wrappers and all, from what `spec` tells."""
    env = FlatGoalEnv(make(name, {}), append_goal_to_obs=True)
    for each in (env, env.env):
        check_env(each, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", [*WITH_GOALS, "FrankaKitchen-v1"])
def test_rewards_are_the_environments_in_both_conventions(name: str) -> None:
    env = goal_environment(make(name, {}))
    env.reset(seed=1)
    observation, reward, _, _, info = env.step(env.action_space.sample())
    achieved, desired = observation["achieved_goal"], observation["desired_goal"]
    assert env.compute_reward(achieved, desired, info) == reward
    assert env.compute_reward(np.zeros(1), observation) == reward
    env.close()


def test_asking_the_kitchen_for_rewards_changes_nothing() -> None:
    env = goal_environment(make("FrankaKitchen-v1", {"tasks_to_complete": ["kettle"]}))
    env.reset(seed=0)
    desired = env.get_goal()["desired_goal"]
    assert env.compute_reward(desired, desired, {}) == 1
    assert env.unwrapped.step_task_completions == []
    twice = {"kettle": np.stack([desired["kettle"], desired["kettle"] + 1])}
    both = {"kettle": np.stack([desired["kettle"]] * 2)}
    batch = {"achieved_goal": twice, "desired_goal": both}
    assert env.compute_rewards(np.zeros((2, 1)), batch).tolist() == [1, 0]
    env.close()


def test_a_maze_does_not_start_at_a_fixed_goal() -> None:
    env = goal_environment(make("PointMaze_UMaze-v3", {}))
    env.reset(seed=0)
    (goal,) = env.sample_goals(1)["desired_goal"]
    env.fixed_goal = goal
    starts = [env.reset(seed=seed)[0]["achieved_goal"] for seed in range(12)]
    assert min(np.linalg.norm(start - goal) for start in starts) > 0.4
    assert len({start.tobytes() for start in starts}) == 12
    env.fixed_goal = None
    wanted = make("PointMaze_UMaze-v3", {}).reset(seed=5)[0]  # nothing is left behind
    assert (env.reset(seed=5)[0]["desired_goal"] == wanted["desired_goal"]).all()
    env.close()


def test_a_maze_leaves_no_file_behind() -> None:
    env = make("PointMaze_UMaze-v3", {})
    assert not Path(env.unwrapped.tmp_xml_file_path).exists()
    env.reset(seed=0)
    env.close()


def test_a_reset_of_the_plain_environment_is_not_changed() -> None:
    env, plain = goal_environment(make("FetchPush-v4", {})), make("FetchPush-v4", {})
    for name, array in env.reset(seed=3)[0].items():
        assert (array == plain.reset(seed=3)[0][name]).all()


def test_a_plain_environment_is_made_flat() -> None:
    env = FlatGoalEnv(make("FetchReach-v4", {}), append_goal_to_obs=True)
    assert env.reset(seed=0)[0].shape == env.observation_space.shape == (13,)
    assert (env.get_goal() == env.reset(seed=0)[0][10:]).all()
    assert env.fixed_goal is None
    env.close()


@pytest.mark.parametrize(
    ("name", "kind", "why"),
    [
        ("FrankaKitchen-v1", UsageError, "tasks_to_complete"),
        ("AdroitHandHammer-v1", BadArgument, "observation, desired_goal, achieved_goal"),
    ],
)
def test_where_no_goal_can_be_set_it_says_why(name: str, kind: type[UsageError], why: str) -> None:
    for use in (
        lambda: Gymnasium(name, goals=2),
        lambda: Gymnasium(name, fixed_goal=[0.0]),
        lambda: goal_environment(make(name, {}), fixed_goal=np.zeros(3)),
    ):
        with raises(kind, why):
            use()


def test_an_environment_that_keeps_its_goals_elsewhere_is_refused() -> None:
    class Strange(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Dict(
            {
                name: gymnasium.spaces.Discrete(2)
                for name in ("observation", "desired_goal", "achieved_goal")
            }
        )

    with raises(BadArgument, "<Strange instance>", "env_adapters.goals.GoalEnvironment"):
        goal_environment(Strange())


def test_an_unknown_id_lists_the_near_ones() -> None:
    with raises(UnknownName, "FetchReach-v4", got="FetchReech-v4"):
        Gymnasium("FetchReech-v4")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("FetchReach-v4", "gymnasium_robotics", "robotics"),
        ("ALE/Pong-v5", "ale_py", "atari"),
        pytest.param(DM_CONTROL, "shimmy", "dm-control", marks=dm_control.INSTALLED),
        pytest.param(DM_CONTROL, "dm_control", "dm-control", marks=dm_control.INSTALLED),
    ],
)
def test_without_its_package_the_extra_is_named(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with raises(MissingExtra, package, f"reglue[{extra}]"):
        Gymnasium(name)


def seen(program_end: str, **variables: str) -> Sequence[Any]:
    program = f"""
import json
import numpy as np
from env_adapters.goals import FlatGoalEnv, ImageEnv, goal_environment
from env_adapters.gymnasium_library import make, mujoco
from env_adapters.mujoco import IntegrationState
{program_end}
"""
    found: Sequence[Any] = answer(program, **variables)
    return found


@pytest.mark.parametrize("name", [*WITH_GOALS[:4], "HandManipulateBlock-v1"])
def test_a_state_is_arranged_so_that_it_achieves_a_goal(name: str) -> None:
    """As it is before it is drawn."""
    env = goal_environment(make(name, {}))
    env.reset(seed=2)
    family, (goal,) = family_of(env), env.sample_goals(1)["desired_goal"]
    state = IntegrationState(family)
    before = state.read()
    family.arrange(family.data, None)
    assert (state.read() == before).all()
    family.arrange(family.data, goal)
    mujoco().mj_forward(family.model, family.data)
    is_maze = "Maze" in name
    achieved = family.data.qpos[:2] if is_maze else env.unwrapped._get_obs()["achieved_goal"]
    assert env.compute_reward(achieved, goal, {}) == (1.0 if is_maze else 0.0)  # it is there
    env.close()


def test_each_size_has_one_renderer_which_is_closed_with_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Renderer] = []

    class Renderer:
        def __init__(self, model: Any, size: int, camera: Mapping[str, Any]) -> None:
            self.size, self.camera, self.is_closed = size, camera, False
            made.append(self)

        def close(self) -> None:
            self.is_closed = True

    monkeypatch.setattr("env_adapters.goals.robotics.GoalRenderer", Renderer)
    env = goal_environment(make("PointMaze_UMaze-v3", {}))
    for size in (8, 16, 8):
        env.check_images(size)
    assert [each.size for each in made] == [8, 16]
    assert {**made[0].camera}["elevation"] == -90.0  # from above: walls hide nothing
    env.close()
    assert all(each.is_closed for each in made)


@pytest.mark.images
def test_images_are_drawn_and_nothing_changes_by_it() -> None:
    names = ["FetchReach-v4", "FetchPush-v4", "PointMaze_UMaze-v3"]
    found = seen(
        f"""
told = []
for name in {names}:
    env, plain = ImageEnv(make(name, {{}}), 24, flat=False), make(name, {{}})
    seen, wanted = env.reset(seed=2)[0], plain.reset(seed=2)[0]
    alike, moves = [], np.random.default_rng(0).uniform(-1, 1, (8, *env.action_space.shape))
    for move in moves.astype(np.float32):
        alike += [bool((seen["state_" + name] == wanted[name]).all()) for name in wanted]
        (seen, reward, *_, info), (wanted, other, *_) = env.step(move), plain.step(move)
        alike.append(bool(reward == other))
    flat = FlatGoalEnv(env, obs_key="state_observation", goal_key="image_desired_goal")
    told.append([all(alike), sorted(seen), list(seen["image_observation"].shape),
                 info["image_dist"] > 0, list(flat.get_goal().shape)])
    env.close()
print(json.dumps(told))
""",
        MUJOCO_GL="osmesa",
    )
    parts = ("observation", "desired_goal", "achieved_goal")
    keys = sorted(prefix + part for prefix in ("", "state_", "image_") for part in parts)
    assert found == [[True, keys, [24, 24, 3], True, [24 * 24 * 3]]] * len(names)


@pytest.mark.images
def test_what_is_drawn_of_a_goal_is_where_it_is_achieved() -> None:
    """By the environment's own measure, and without the markers that tell the goal."""
    found = seen(
        """
told = []
for name in ["FetchReach-v4", "FetchPush-v4", "PointMaze_UMaze-v3", "AntMaze_UMaze-v5",
             "HandManipulateBlock-v1"]:
    env = ImageEnv(make(name, {}), 32)
    env.reset(seed=2)
    one, other = env.goals.sample_goals(2)["desired_goal"]
    images = []
    for goal in (one, other):
        env.set_goal(goal)
        images.append([env.goals.get_image(32).tolist(), env.get_goal()["desired_goal"].tolist()])
    told.append([images[0][0] == images[1][0], images[0][1] == images[1][1]])
    env.close()
print(json.dumps(told))
""",
        MUJOCO_GL="osmesa",
    )
    assert found == [[True, False]] * 5


@pytest.mark.parametrize(("chosen", "told"), [("", "not set"), ("disable", "disable")])
def test_where_nothing_can_be_drawn_it_says_what_to_install(chosen: str, told: str) -> None:
    variables = {"MUJOCO_GL": chosen} if chosen else {}
    found = seen(
        """
from env_adapters import mujoco
mujoco.find_library = lambda name: None  # nothing is installed
told = []
for _ in range(2):
    try:
        ImageEnv(make("FetchReach-v4", {}))
    except Exception as error:
        told.append([type(error).__name__, str(error)])
print(json.dumps(told))
""",
        **variables,
    )
    assert [kind for kind, _ in found] == ["UsageError"] * 2
    assert f"MUJOCO_GL is {told}, wanted" in found[0][1]
    assert "libegl1" in found[0][1]
    assert "libosmesa6" in found[0][1]


@pytest.mark.images
def test_a_goal_that_no_image_can_show_is_said_to_be_so() -> None:
    found = seen(
        """
from env_adapters.goals import Point2D
told = []
for name in ["HandReach-v3", "FrankaKitchen-v1"]:
    try:
        ImageEnv(make(name, {}))
    except Exception as error:
        told.append(str(error))
try:
    ImageEnv(make("FetchReach-v4", {}), 5000)
except Exception as error:
    told.append(str(error))
print(json.dumps(told))
""",
        MUJOCO_GL="osmesa",
    )
    assert "has no image of goals: it is a position for each of five fingertips" in found[0]
    assert "has no image of goals: its goal is several tasks" in found[1]
    assert "got pictures of 5000 × 5000" in found[2]


def test_a_library_that_mujoco_lacks_is_named() -> None:
    """MuJoCo loads it with itself; here there is no OpenGL to load."""
    program = """
import json, sys
sys.modules["OpenGL"] = None
from env_adapters.gymnasium_library import make, mujoco
from env_adapters.mujoco import IntegrationState
try:
    make("FetchReach-v4", {})
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    kind, words = answer(program, MUJOCO_GL="osmesa")
    assert kind == "CannotLoad"
    assert "MUJOCO_GL is osmesa, wanted MUJOCO_GL=egl or MUJOCO_GL=osmesa" in words
    assert "its library (on Debian: apt-get install libegl1, or libosmesa6)" in words


@pytest.mark.parametrize(
    ("name", "options", "ends"),
    [
        ("FetchReach-v4", {}, False),
        ("PointMaze_UMaze-v3", {}, False),
        ("PointMaze_UMaze-v3", {"continuing_task": False}, True),
    ],
)
def test_ends_are_computed_as_the_environment_computes_them(
    name: str, options: dict[str, Any], ends: bool
) -> None:
    plain = make(name, options)
    env = goal_environment(plain)
    goal = np.zeros(env.observation_space["desired_goal"].shape)
    assert env.compute_terminated(goal, goal, {}) == ends
    for apart in (0.0, 1.0):
        given: Any = (goal, goal + apart, {})
        assert env.compute_terminated(*given) == plain.unwrapped.compute_terminated(*given)
        assert env.compute_truncated(*given) == plain.unwrapped.compute_truncated(*given)
    env.close()

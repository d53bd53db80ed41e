"""Pictures by the cameras of Meta-World's models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from env_adapters.metaworld import MetaWorld
from env_adapters.metaworld.cameras import CAMERAS, UPSIDE_DOWN, CameraView, camera_view, size_text
from env_adapters.metaworld.library import metaworld, mujoco
from env_adapters.metaworld.shared_env import Models
from reglue.error_message import brief
from reglue.errors import BadArgument, UnknownName
from tests.error_facts import raises
from tests.programs import run_python

REACH = {"reach-v3": [[0.0, 0.6, 0.02, 0.0, 0.85, 0.2], [0.05, 0.65, 0.02, -0.05, 0.85, 0.1]]}

PROGRAM = """
import json
import numpy as np
from env_adapters.metaworld import MetaWorld, draw_goals, task_set
from env_adapters.metaworld.cameras import UPSIDE_DOWN
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell

def suite_of(task, *, goal_visible=True, **camera):
    goals = {task: [list(goal) for goal in draw_goals(task_set(f"MT1:{task}"), 7)[task]]}
    return MetaWorld(goals=goals, goal_visible=goal_visible, **camera)

def cell(task, variant=0):
    return Cell(task=task, variant=variant, seed=0, repeat=0, phase=Phase.TRAIN)

actions = np.random.default_rng(0).uniform(-1, 1, (9, 4)).astype(np.float32)
"""


def printed(program: str, **variables: str) -> Any:
    """The JSON that a program prints, in a process of its own: MuJoCo chooses once how to draw."""
    unset = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    done = run_python(PROGRAM + program, unset=unset, **variables)
    return json.loads(done.stdout.splitlines()[-1])


def test_every_task_has_these_cameras(models: Models) -> None:
    """All models include one file with cameras, of which one model is read."""
    model = models.environment("reach-v3")[1].model
    assert [model.camera(n).name for n in range(model.ncam)] == list(CAMERAS)
    for task, kind in metaworld("env_dict").ALL_V3_ENVIRONMENTS.items():
        text = Path(kind.model_name.fget(None)).read_text(encoding="utf-8")
        assert text.count("xyz_base.xml") == 1, task
        assert "<camera" not in text, task


def test_cameras_that_hang_upside_down_are_turned(models: Models) -> None:
    model = models.environment("reach-v3")[1].model
    data = mujoco().MjData(model)
    mujoco().mj_forward(model, data)
    up = {name: float(data.camera(name).xmat.reshape(3, 3)[2, 1]) for name in CAMERAS}
    assert {name for name, z in up.items() if z < -0.1} == UPSIDE_DOWN


@pytest.mark.parametrize("size", ["64x48", "64×48", " 64 x 48 ", (64, 48), [64, 48]])
def test_a_size_is_width_and_height(size: Any) -> None:
    view = camera_view("topview", size, depth=True)
    assert view == CameraView("topview", 64, 48, depth=True)
    assert size_text(size) == "64x48"
    image, depth = view.specs()
    assert (image.name, image.dtype, image.shape) == ("image", "uint8", (48, 64, 3))
    assert (depth.name, depth.dtype, depth.shape) == ("depth", "float32", (48, 64))


@pytest.mark.parametrize(
    "size",
    [
        *("84", "84x", "0x84", "84x1025", "-1x84", "1e3x84", f"{9**30}x84"),
        *((84,), (84, 84, 3), (), (84.0, 84), (True, 84), (2**40, 1), (84, 84, 8.4), 84, {}),
    ],
)
def test_a_size_out_of_range_is_refused_before_memory_is_allocated(size: Any) -> None:
    with raises(BadArgument, f"camera_size {brief(size)}", "1", "1024"):
        MetaWorld(goals=REACH, goal_visible=True, camera="corner2", camera_size=size)


def test_an_unknown_camera_is_refused_with_those_alike() -> None:
    with raises(UnknownName, "corner5", "corner4"):
        MetaWorld(goals=REACH, goal_visible=True, camera="corner5")


@pytest.mark.parametrize("given", [{"camera_depth": True}, {"camera_size": "84x84"}])
def test_size_and_depth_need_a_camera(given: dict[str, Any]) -> None:
    with raises(BadArgument, *given, *CAMERAS):
        MetaWorld(goals=REACH, goal_visible=True, **given)


@pytest.mark.images
def test_pictures_are_those_that_metaworld_renders() -> None:
    """After the first step: after a reset Meta-World draws places from before its last changes."""
    found = printed(
        """
import metaworld
from metaworld.env_dict import ALL_V3_ENVIRONMENTS
same = []
for task, camera in [("drawer-open-v3", "corner2"), ("door-lock-v3", "topview")]:
    suite = suite_of(task, camera=camera, camera_size=(60, 60))
    env = ALL_V3_ENVIRONMENTS[task](
        reward_function_version="v2", render_mode="rgb_array", camera_name=camera,
        width=60, height=60,
    )
    goal = np.array(suite._settings.goals[task][0])
    data = {"rand_vec": goal, "env_cls": type(env), "partially_observable": False}
    env.set_task(metaworld._encode_task(task, data))
    env.reset()
    world = suite.world()
    world.start(cell(task))
    for action in actions[:3]:
        env.step(action)
        image = world.step({"action": action}).observation["image"]
        turn = slice(None, None, -1 if camera in UPSIDE_DOWN else 1)
        same.append(bool((env.render()[turn, turn] == image).all()))
    suite.close()
    env.mujoco_renderer.close()
print(json.dumps(same))
""",
        MUJOCO_GL="osmesa",
    )
    assert found == [True] * 6


@pytest.mark.images
def test_depth_is_the_distance_that_rays_measure() -> None:
    found = printed(
        """
import mujoco
from env_adapters.mujoco import IntegrationState
size, told = 24, []
for camera in ("topview", "corner2"):
    suite = suite_of(
        "push-v3", goal_visible=False, camera=camera, camera_size=(size, size), camera_depth=True
    )
    world = suite.world()
    depth = world.start(cell("push-v3"))["depth"]
    simulator = world._episode.simulator
    model = simulator.model
    data = mujoco.MjData(model)
    mujoco.mj_setState(
        model, data, simulator.get_state().physics, mujoco.mjtState.mjSTATE_INTEGRATION
    )
    mujoco.mj_forward(model, data)
    turned = data.camera(camera).xmat.reshape(3, 3)
    focal = size / 2 / np.tan(np.radians(model.camera(camera).fovy[0]) / 2)
    turn = slice(None, None, -1 if camera in UPSIDE_DOWN else 1)
    errors = []
    for row, line in enumerate(depth[turn, turn]):
        for column, metres in enumerate(line):
            x, y = (column + 0.5 - size / 2) / focal, (size / 2 - row - 0.5) / focal
            ray = turned @ (x, y, -1.0)
            length = np.linalg.norm(ray)
            far = mujoco.mj_ray(model, data, data.camera(camera).xpos, ray / length,
                                np.array([1, 1, 1, 0, 0, 0], np.uint8), 1, -1,
                                np.zeros(1, np.int32))
            if far >= 0:
                errors.append(abs(far / length - float(metres)))
    told.append([len(errors), float(np.median(errors)), float(np.mean(np.array(errors) < 0.001))])
    suite.close()
print(json.dumps(told))
""",
        MUJOCO_GL="osmesa",
    )
    for rays, median, share in found:
        assert rays > 300
        assert median < 1e-4  # metres
        assert share > 0.95  # others pass an edge


@pytest.mark.images
def test_rewards_are_the_same_with_a_camera_and_pictures_do_not_depend_on_others() -> None:
    """Two worlds share a simulator's data, and a state goes into a suite of its own."""
    found = printed(
        """
def played(suite, plan, world=None):
    worlds = {number: suite.world() for number in dict.fromkeys(plan)}
    seen = {number: [world.start(cell("push-v3", number))] for number, world in worlds.items()}
    told = {number: [] for number in worlds}
    for number in plan:
        step = worlds[number].step({"action": actions[len(told[number])]})
        told[number].append([step.reward, step.success])
        seen[number].append(step.observation)
    return worlds, seen, told

def bits(observations):
    return [{name: array.tobytes().hex() for name, array in each.items()} for each in observations]

from env_adapters.metaworld.cameras import Cameras
taken, take = [], Cameras.take
Cameras.take = lambda *given, **options: (taken.append(1), take(*given, **options))[1]
camera = {"camera": "corner", "camera_size": "32x24", "camera_depth": True}
plain = played(suite_of("push-v3"), [0] * 6)
suite = suite_of("push-v3", **camera)
worlds, seen, told = played(suite, [0, 1, 1, 0, 0, 1, 0, 1])
alone, other = suite_of("push-v3", **camera), suite_of("push-v3", **camera)
_, seen_alone, told_alone = played(alone, [0] * 6)
continued = other.world()
continued.set_state(worlds[0].get_state())
rest = [continued.step({"action": action}) for action in actions[4:6]]
pictures = {bytes(each["image"]) for each in seen[0]}
print(json.dumps({
    "rewards": told_alone[0] == plain[2][0],
    "vectors": [each["observation"] for each in bits(seen_alone[0])]
               == [each["observation"] for each in bits(plain[1][0])],
    "beside others": bits(seen[0]) == bits(seen_alone[0][:5]),
    "after a state": bits([step.observation for step in rest]) == bits(seen_alone[0][5:7]),
    "pictures": len(pictures),
    "taken": len(taken),
}))
""",
    )
    assert found == {
        "rewards": True,
        "vectors": True,
        "beside others": True,
        "after a state": True,
        "pictures": 5,
        "taken": 10 + 7 + 2,  # one for each start and step
    }


@pytest.mark.images
def test_a_hidden_goal_is_not_in_the_picture() -> None:
    """Reach's goal is a marker alone, so pictures of two goals differ by nothing else."""
    found = printed(
        """
told = []
for visible in (True, False):
    suite = suite_of("reach-v3", goal_visible=visible, camera="corner2", camera_depth=True)
    world = suite.world()
    suite._settings.goals["reach-v3"][1][:3] = suite._settings.goals["reach-v3"][0][:3]
    one, other = (world.start(cell("reach-v3", variant)) for variant in (0, 1))
    told.append([bool((one[name] == other[name]).all()) for name in ("image", "depth")])
    suite.close()
print(json.dumps(told))
""",
    )
    assert found == [[False, False], [True, True]]


@pytest.mark.images
def test_the_renderers_of_a_suite_are_bounded_and_share_a_context() -> None:
    found = printed(
        """
from env_adapters.metaworld import cameras
from env_adapters.metaworld.simulator import SimulatorPool
cameras._MOST_RENDERERS = 2
contexts, begin = [], cameras.OffscreenContext.__init__
cameras.OffscreenContext.__init__ = lambda self: (contexts.append(1), begin(self))[1]
tasks = ["reach-v3", "drawer-open-v3", "window-open-v3"]
goals = {task: [list(draw_goals(task_set(f"MT1:{task}"), 7)[task][0])] for task in tasks}
suite = MetaWorld(goals=goals, goal_visible=True, camera="corner2", camera_size="32x32")
worlds, pictures = [suite.world() for _ in tasks], []
for _ in range(2):
    for world, task in zip(worlds, tasks, strict=True):
        pictures.append(world.start(cell(task))["image"].tobytes().hex())
print(json.dumps([len(suite._cameras._models), len(contexts), pictures[:3] == pictures[3:],
                  len(set(pictures))]))
""",
    )
    assert found == [2, 1, True, 3]


def test_where_nothing_can_be_drawn_the_suite_is_refused() -> None:
    found = printed(
        """
try:
    suite_of("reach-v3", camera="corner2")
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
""",
        MUJOCO_GL="glfw",
    )
    assert found[0] == "UsageError"
    assert "MUJOCO_GL=egl or MUJOCO_GL=osmesa" in found[1]


@pytest.mark.images
def test_pictures_are_drawn_where_mujoco_was_loaded_before_by_others() -> None:
    found = printed(
        """
import mujoco
suite = suite_of("reach-v3", camera="corner2", camera_size=(8, 8))
print(json.dumps(suite.world().start(cell("reach-v3"))["image"].shape))
"""
    )
    assert found == [8, 8, 3]

"""Meta-World's step without its Python overhead, equal to the last bit.

Apart from the physics, a step of metaworld 3.1.1 spends most of its time in small NumPy and
SciPy calls and in look-ups by name. A StandIn shares the environment's attributes and steps in its
place: it makes the same MuJoCo calls, and calls Meta-World's own reward functions, rebuilt so that
they call cheaper functions (`fast_arithmetic`). Nothing of metaworld is patched, so environments
made elsewhere in the process do not change.

`fast_arithmetic.step_is_verified` says where the fast step is used; everywhere else Meta-World's
own step plays.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.fast_arithmetic import (
    lengths_here,
    numpy_like,
    rotation_like,
    step_is_verified,
    tolerance_like,
)
from env_adapters.metaworld.library import metaworld, mujoco


class Views:
    """`body(name)`, `geom(name)`, `joint(name)` and `site(name)` of an MjData.

    They return MjData's own arrays, which MuJoCo writes; nothing is copied.
    """

    def __init__(self, data: Any) -> None:
        # A dict's own look-up: a hit calls no Python.
        self.body: Callable[[str], Any] = _ByName(data.body).__getitem__
        self.geom: Callable[[str], Any] = _ByName(data.geom).__getitem__
        self.joint: Callable[[str], Any] = _ByName(data.joint).__getitem__
        self.site: Callable[[str], Any] = _ByName(data.site).__getitem__


class _ByName(dict[str, Any]):
    def __init__(self, find: Callable[[str], Any]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> Any:
        self[name] = view = _View(self._find(name))
        return view


class _View:
    def __init__(self, named: Any) -> None:
        self._named = named

    def __getattr__(self, field: str) -> Any:
        value = getattr(self._named, field)
        if isinstance(value, np.ndarray):  # of MjData's memory, which never moves
            setattr(self, field, value)
        return value


def touches_both(data: Any, pads: tuple[int, int], thing: int) -> bool:
    """`SawyerXYZEnv.touching_object`: both pads press on the geom `thing`.

    `data` is an MjData, pads and thing are ids of geoms.
    """
    contact = data.contact
    pairs, places = contact.geom.tolist(), contact.efc_address.tolist()
    return all(
        sum(
            data.efc_force[place]
            for pair, place in zip(pairs, places, strict=True)
            if pad in pair and thing in pair
        )
        > 0
        for pad in pads
    )


Floats = npt.NDArray[np.float64]


def caging_reward(  # noqa: PLR0913, PLR0917 - upstream's arguments
    env: Any,
    action: npt.NDArray[np.float32],
    obj_pos: Floats,
    obj_radius: float,
    pad_success_thresh: float,
    object_reach_radius: float,
    xz_thresh: float,
    desired_gripper_effort: float = 1.0,
    high_density: bool = False,
    medium_density: bool = False,
) -> Any:
    """`SawyerXYZEnv._gripper_caging_reward`, which explains its purpose.

    (4,) action, (3,) position of the object; lengths in metres.
    """
    rewards = env.rewards
    tolerance, product, length = (
        rewards.tolerance,
        rewards.hamacher_product,
        rewards.lengths.of_two,
    )
    x, y, z = obj_pos.tolist()
    start_x, start_y, start_z = env.obj_init_pos.tolist()
    hand_x, _, hand_z = env.tcp_center.tolist()
    first_x, _, first_z = env.init_tcp.tolist()
    pad = obj_radius, pad_success_thresh
    left_y, right_y = env.get_body_com("leftpad").item(1), env.get_body_com("rightpad").item(1)
    left_margin = abs(abs(left_y - start_y) - pad_success_thresh)
    right_margin = abs(abs(right_y - start_y) - pad_success_thresh)
    left = tolerance(abs(left_y - y), pad, left_margin, "long_tail")
    right = tolerance(abs(right_y - y), pad, right_margin, "long_tail")
    margin = length(start_x - first_x, start_z - first_z) - xz_thresh
    near = tolerance(length(hand_x - x, hand_z - z), (0, xz_thresh), margin, "long_tail")
    caging = product(product(left, right), near)
    # Here upstream computes in float32 or float64 by how far the gripper closes.
    closed = min(max(0, action[-1]), desired_gripper_effort) / desired_gripper_effort
    reward = product(caging, closed if caging > 0.97 else 0.0)
    if high_density:
        reward = (reward + caging) / 2
    if medium_density:
        reward = (reward + _reach(env, obj_pos, object_reach_radius)) / 2
    return reward


def _reach(env: Any, obj_pos: Floats, radius: float) -> Any:
    tolerance, length = env.rewards.tolerance, env.rewards.lengths.of
    margin = abs(length(env.obj_init_pos - env.init_tcp) - radius)
    return tolerance(length(obj_pos - env.tcp_center), (0, radius), margin, "long_tail")


_FRAME = 18  # hand 3, gripper 1, objects 14
_FLOAT32 = np.dtype(np.float32)
_THREE_FLOATS = struct.Struct("3f")
_SUCCEED_BY_TOUCH = ("SawyerStickPushEnvV3",)
_DOWNWARDS = np.array((1.0, 0.0, 1.0, 0.0))  # the hand's quaternion, as upstream writes it
_TWO = np.array((2.0, 2.0, 2.0))
SLOTS = (
    *("data", "tcp_center", "_bounds", "_claws", "_fingers", "_forward", "_hand", "_memory"),
    *("_scale", "_simulate"),
)


def stand_in(env: Any) -> StandIn | None:
    """The StandIn of a metaworld environment; None if the fast step is not verified."""
    if not step_is_verified():
        return None
    made: StandIn = object.__new__(_class(type(env)))  # type: ignore[arg-type] # types are hashable
    made.take(env)
    return made


class StandIn:
    """A faster replacement of an environment, for `step` and upstream's reward functions.

    It shares the environment's `__dict__`: the environment resets, and both see the same episode.
    Only `data` differs: MuJoCo's, looked up by name once.

    The class that is made of it for a task inherits from the task's class too, and has
    that class's functions with other globals.
    """

    # Slots of the classes that are made; where upstream has them too, these come first.
    data: Views
    tcp_center: Floats  # (3,), between the fingertips, as of this step
    _bounds: list[tuple[float, float]]  # of the hand's mocap body, x, y and z
    _claws: tuple[Floats, Floats]
    _fingers: tuple[Floats, Floats]
    _forward: Callable[[], None]
    _hand: Floats
    _memory: Any  # MjData's arrays that a step writes: mocap_pos, mocap_quat, ctrl
    _scale: float  # action_scale rounded to float32
    _simulate: Callable[[], None]

    rewards: Any  # upstream's module of that name, with `lengths`

    # The environment's attributes, and functions of its class.
    action_scale: float  # metres per unit of action
    curr_path_length: int
    max_path_length: int
    obj_init_pos: Floats
    init_tcp: Floats
    sawyer_observation_space: Any
    _partially_observable: bool
    _prev_obs: Floats
    _target_pos: Floats
    _get_id_main_object: Callable[[], int]
    _get_pos_objects: Callable[[], Floats]
    _get_quat_objects: Callable[[], Floats]
    evaluate_state: Callable[..., tuple[Any, dict[str, Any]]]

    _gripper_caging_reward = caging_reward
    """For tasks without their own."""

    def take(self, env: Any) -> None:
        """Share the environment's attributes."""
        mj, model, data = mujoco(), env.model, env.data
        self.__dict__ = env.__dict__
        self.data = views = Views(data)
        self._bounds = [*zip(env.mocap_low.tolist(), env.mocap_high.tolist(), strict=True)]
        self._claws = views.body("rightclaw").xpos, views.body("leftclaw").xpos
        self._fingers = views.site("rightEndEffector").xpos, views.site("leftEndEffector").xpos
        self._forward = partial(mj.mj_forward, model, data)
        self._hand = views.body("hand").xpos
        self._memory = data.mocap_pos[0], data.mocap_quat[0], data.ctrl
        self._scale = float(np.float32(env.action_scale))
        self._simulate = partial(mj.mj_step, model, data, env.frame_skip)

    def step(self, action: npt.NDArray[Any]) -> tuple[Floats, Any, Any]:
        """The environment's observation, reward and `info["success"]`, types and bits.

        `action` is (4,), float32 or float64.

        It omits two computations on which no result depends: the positions of sites, which
        mj_forward computes, and the forces of mj_rnePostConstraint.
        """
        if self.curr_path_length >= self.max_path_length:
            raise ValueError("You must reset the env manually once truncate==True")
        self._control(action)
        self._simulate()
        self.curr_path_length += 1
        self._forward()
        right, left = self._fingers
        self.tcp_center = (right + left) / _TWO
        observation = self._observe()
        reward, info = self.evaluate_state(observation, action)
        return observation, reward, info["success"]

    def _control(self, action: npt.NDArray[Any]) -> None:
        position, quaternion, control = self._memory
        x, y, z, effort = action.tolist()
        single = action.dtype == _FLOAT32
        scale = self._scale if single else self.action_scale
        dx = _between(-1.0, x, 1.0) * scale
        dy = _between(-1.0, y, 1.0) * scale
        dz = _between(-1.0, z, 1.0) * scale
        if single:  # upstream's products are float32: float64's are exact, and rounded here
            dx, dy, dz = _THREE_FLOATS.unpack(_THREE_FLOATS.pack(dx, dy, dz))
        x, y, z = position.tolist()
        (low_x, high_x), (low_y, high_y), (low_z, high_z) = self._bounds
        position[0] = _between(low_x, x + dx, high_x)
        position[1] = _between(low_y, y + dy, high_y)
        position[2] = _between(low_z, z + dz, high_z)
        quaternion[:] = _DOWNWARDS
        control[0] = effort
        control[1] = -effort

    def _observe(self) -> Floats:
        observation = np.zeros(2 * _FRAME + 3)
        observation[:3] = self._hand
        right, left = self._claws
        observation[3] = _between(0.0, self.rewards.lengths.of(right - left) / 0.1, 1.0)
        position, quaternion = self._get_pos_objects(), self._get_quat_objects()
        if len(position) == 3:
            observation[4:7] = position
            observation[7:11] = quaternion
        else:
            observation[4:7], observation[7:11] = position[:3], quaternion[:4]
            observation[11:14], observation[14:18] = position[3:], quaternion[4:]
        observation[_FRAME : 2 * _FRAME] = self._prev_obs
        self._prev_obs = observation[:_FRAME].copy()
        if not self._partially_observable:
            observation[2 * _FRAME :] = self._target_pos
        space = self.sawyer_observation_space
        np.maximum(observation, space.low, out=observation)
        np.minimum(observation, space.high, out=observation)
        return observation

    @property
    def touching_main_object(self) -> bool:
        """Computed only if success depends on it: otherwise it only makes `grasp_success`."""
        if type(self).__name__ not in _SUCCEED_BY_TOUCH:
            return False
        geom = self.data.geom
        pads = geom("leftpad_geom").id, geom("rightpad_geom").id
        return touches_both(vars(self)["data"], pads, self._get_id_main_object())

    def get_body_com(self, name: str) -> Floats:
        """Position of a body, (3,), in MuJoCo's memory."""
        position: Floats = self.data.body(name).xpos
        return position

    def _get_site_pos(self, name: str) -> Floats:
        position: Floats = self.data.site(name).xpos.copy()
        return position


def _between(low: float, number: float, high: float) -> float:
    return low if number < low else high if number > high else number


@cache
def _class(task_class: type) -> type:
    return rebuilt(task_class, StandIn, SLOTS)


def rebuilt(task_class: type, mixin: type, slots: tuple[str, ...]) -> type:
    """A class like `mixin` and `task_class`, with the latter's functions first.

    The functions read cheaper versions of their globals; where they call each other by
    the class's name, they call the new one.
    """
    scope = dict(vars(sys.modules[task_class.__module__]))
    for name, value in scope.items():
        scope[name] = _replacements().get(id(value), value)
    functions = {name: _rebuild(value, scope) for name, value in vars(task_class).items()}
    members = {name: value for name, value in functions.items() if value is not None}
    extra = {"__slots__": slots, "rewards": _fast_rewards()}
    made = type(task_class.__name__, (mixin, task_class), members | extra)
    scope[task_class.__name__] = made
    return made


def _rebuild(member: Any, scope: dict[str, Any]) -> Any:
    """The same function with `scope` as its globals; None if it is no function."""
    if isinstance(member, staticmethod):
        return staticmethod(_with_globals(member.__func__, scope))
    if isinstance(member, FunctionType):
        return _with_globals(_undecorated(member), scope)
    return None


def _undecorated(function: FunctionType) -> FunctionType:
    """The function without `assert_task_is_set`: a step always comes after a start."""
    names = function.__code__.co_freevars
    if names == ("func",) and function.__closure__:
        decorated: FunctionType = function.__closure__[0].cell_contents
        return decorated
    return function


def _with_globals(function: Any, scope: dict[str, Any]) -> FunctionType:
    code = function.__code__.replace()  # its own: the interpreter adapts it to what it meets
    copied = FunctionType(
        code, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


@cache
def _replacements() -> dict[int, Any]:
    """Replacements of upstream's globals, by the original's id."""
    numpy, rewards = metaworld("sawyer_xyz_env").np, metaworld("utils.reward_utils")
    rotation = metaworld("envs.sawyer_push_v3").Rotation
    return {
        id(numpy): numpy_like(),
        id(rewards): _fast_rewards(),
        id(rewards.tolerance): _fast_rewards().tolerance,
        id(rotation): rotation_like(rotation),
    }


@cache
def _fast_rewards() -> Any:
    rewards = metaworld("utils.reward_utils")
    fast = ModuleType(rewards.__name__)
    fast.__dict__.update(
        vars(rewards), tolerance=tolerance_like(rewards.tolerance), lengths=lengths_here()
    )
    return fast

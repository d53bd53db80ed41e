"""Meta-World's reward for closing the gripper around an object, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
    """`SawyerXYZEnv._gripper_caging_reward`, which explains what it is for.

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

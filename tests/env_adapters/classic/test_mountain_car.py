"""Mountain car against the equations of example 10.1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env_adapters.classic.mountain_car import Car, MountainCar, cosine_of_triple
from reglue.rng import Rng
from tests.env_adapters.classic.classic_playing import cell_of, play

REVERSE, COAST, FORWARD = range(3)
positions, velocities = st.floats(-1.2, 0.5), st.floats(-0.07, 0.07)


def move(position: float, velocity: float, action: int) -> tuple[float, float, bool]:
    moved = MountainCar().move(Car(position, velocity), action, Rng(0))
    assert moved.terminated == moved.success
    return (*moved.state, moved.terminated)


@given(positions, velocities, st.sampled_from([REVERSE, COAST, FORWARD]))
def test_a_step_is_the_books(position: float, velocity: float, action: int) -> None:
    pull = 0.001 * (action - 1) - 0.0025 * math.cos(3 * position)
    fast = min(max(velocity + pull, -0.07), 0.07)
    far = min(max(position + fast, -1.2), 0.5)
    then, speed, over = move(position, velocity, action)
    assert then == pytest.approx(far, abs=1e-15)
    assert speed == (0.0 if then == -1.2 else pytest.approx(fast, abs=1e-15))
    assert over == (then == 0.5)


@given(positions)
def test_the_cosine_is_right_to_its_last_bits(position: float) -> None:
    assert cosine_of_triple(position) == pytest.approx(math.cos(3 * position), abs=1e-15)


def test_an_episode_has_these_bits_on_every_platform() -> None:
    """Kept from one; whoever writes this environment in another language can compare."""
    player = MountainCar().world()
    first = player.start(cell_of("mountain-car", seed=42, repeat=7))["observation"]
    swing = [REVERSE] * 30 + [FORWARD] * 40 + [REVERSE] * 30
    last = np.frombuffer(bytes.fromhex(play(player, swing)[-1][0]))
    assert [number.hex() for number in (*first.tolist(), *last.tolist())] == [
        "-0x1.e6914554eaca2p-2",
        "0x0.0p+0",
        "-0x1.98c7e5fc5198dp-1",
        "-0x1.0329c9edd8972p-4",
    ]


def test_the_left_wall_stops_the_car() -> None:
    assert move(-1.19, -0.05, REVERSE) == (-1.2, 0.0, False)


def test_the_car_has_a_top_speed() -> None:
    assert move(0.0, 0.0699, FORWARD)[1] < 0.07
    assert move(-1.0, 0.07, FORWARD)[1] == 0.07
    assert move(-0.2, -0.07, REVERSE)[1] == -0.07


def test_at_the_goal_the_episode_is_over() -> None:
    assert move(0.49, 0.05, FORWARD)[::2] == (0.5, True)
    assert not move(0.44, 0.05, FORWARD)[2]


def test_full_throttle_alone_does_not_reach_the_goal() -> None:
    player = MountainCar().world()
    player.start(cell_of("mountain-car"))
    assert len(play(player, [FORWARD] * 1000)) == 1000


def test_starts_lie_evenly_near_the_bottom_at_rest() -> None:
    player = MountainCar().world()
    cells = [cell_of("mountain-car", repeat=repeat) for repeat in range(1000)]
    starts = np.array([player.start(cell)["observation"] for cell in cells])
    assert (starts[:, 1] == 0).all()
    assert starts[:, 0].min() >= -0.6
    assert starts[:, 0].max() <= -0.4
    assert np.histogram(starts[:, 0], 4, (-0.6, -0.4))[0].min() > 200


def test_without_a_horizon_an_episode_goes_on() -> None:
    player = MountainCar().world()
    player.start(cell_of("mountain-car"))
    assert len(play(player, [COAST] * 3000)) == 3000

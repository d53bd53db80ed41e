"""The fast step equals the plain one to the bit, and steps aside where it was not proved."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.metaworld import ALL_TASKS, fast_arithmetic, library
from env_adapters.metaworld.fast_arithmetic import step_is_verified
from env_adapters.metaworld.fast_step import stand_in
from env_adapters.metaworld.library import VERIFIED, is_verified, metaworld
from env_adapters.metaworld.simulator import SimulatorPool

pytestmark = pytest.mark.slow

proved_here = pytest.mark.skipif(
    not is_verified(), reason="other versions than those it was proved for"
)


@pytest.fixture
def pool() -> SimulatorPool:
    return SimulatorPool()


def bits(observation: Any, reward: Any, success: Any) -> tuple[Any, ...]:
    """Equal only where a step's types and bits are."""
    return observation.tobytes(), type(reward), np.array(reward).tobytes(), bool(success)


def actions(act: Callable[[Any], Any], kind: str) -> Callable[[Any], Any]:
    """A policy's actions with noise; some far out of bounds, some of chance alone."""
    rng = np.random.default_rng(0)

    def choose(observation: Any) -> Any:
        noise = rng.normal(scale=0.1, size=4).astype(np.float32)
        match kind:
            case "expert":
                return act(observation) + noise
            case "clipped":
                return act(observation) * np.float32(4) + noise
            case _:
                return rng.uniform(-1.5, 1.5, 4)  # float64

    return choose


EPISODES = [("expert", 0, True, 300), ("clipped", 1, False, 150), ("random", 1, True, 100)]


@pytest.mark.parametrize("task", ALL_TASKS)
def test_steps_have_the_types_and_bits_of_plain_metaworld(
    task: str, pool: SimulatorPool, draw_two: Any, start_plain: Any, expert: Any
) -> None:
    goals = draw_two(task)
    simulator = pool.take(task)
    for kind, variant, visible, steps in EPISODES:
        env, observation = start_plain(task, goals[variant], goal_visible=visible)
        first = simulator.start(goals[variant], goal_visible=visible)
        assert first.tobytes() == observation.tobytes()
        choose = actions(expert(task), kind)
        for step in range(steps):
            action = choose(np.concatenate([observation[:36], env._target_pos]))
            observation, reward, _, _, info = env.step(action)
            expected = bits(observation, reward, info["success"] == 1.0)
            assert bits(*simulator.step(action)) == expected, f"{kind}, step {step}"
            assert simulator.get_state().previous.tobytes() == env._prev_obs.tobytes()
    pool.give_back(simulator)


def test_it_was_proved_for_the_versions_that_make_installs() -> None:
    """So that nothing here is skipped where constraints.txt is obeyed, as by `make check`."""
    constraints = Path(__file__).parents[3] / "constraints.txt"
    assert {f"{name}=={version}" for name, version in VERIFIED.items()} <= {
        *constraints.read_text().splitlines()
    }


@proved_here
def test_it_is_on_where_it_was_proved(plain: Any) -> None:
    assert library.digest() == library.SOURCES, "check metaworld's sources, then note their digest"
    assert stand_in(plain("push-v3")) is not None


@pytest.fixture
def unproved(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(library, "SOURCES", "of other sources")
    for answer in (is_verified, step_is_verified):
        answer.cache_clear()
    yield
    for answer in (is_verified, step_is_verified):
        answer.cache_clear()


def test_other_sources_are_stepped_plainly(
    unproved: None, plain: Any, draw_two: Any, start_plain: Any
) -> None:
    assert stand_in(plain("push-v3")) is None
    goal = draw_two("push-v3")[0]
    simulator = SimulatorPool().take("push-v3")
    env, observation = start_plain("push-v3", goal)
    assert simulator.start(goal, goal_visible=True).tobytes() == observation.tobytes()
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32):
        observation, reward, _, _, info = env.step(action)
        assert bits(*simulator.step(action)) == bits(observation, reward, info["success"] == 1.0)


def test_it_keeps_to_the_longest_episode(
    pool: SimulatorPool, draw_two: Any, start_plain: Any
) -> None:
    goal, still = draw_two("reach-v3")[0], np.zeros(4, np.float32)
    simulator, (env, _) = pool.take("reach-v3"), start_plain("reach-v3", goal)
    simulator.start(goal, goal_visible=True)
    for _ in range(env.max_path_length):
        simulator.step(still)
    with pytest.raises(ValueError, match="You must reset the env manually"):
        simulator.step(still)
    pool.give_back(simulator)


@proved_here
def test_environments_made_elsewhere_stay_as_they_are() -> None:
    task_class = metaworld("env_dict").ALL_V3_ENVIRONMENTS["door-open-v3"]
    module = sys.modules[task_class.__module__]
    places = [module, *task_class.__mro__, metaworld("utils.reward_utils"), np, np.linalg]
    before = [dict(vars(place)) for place in places]
    env = task_class(reward_function_version="v2")
    attributes = dict(vars(env))
    assert stand_in(env) is not None
    assert type(env) is task_class
    assert list(vars(env)) == list(attributes)
    assert all(vars(env)[name] is value for name, value in attributes.items())
    for place, members in zip(places, before, strict=True):
        assert all(vars(place)[name] is value for name, value in members.items())
    env.close()


def same(ours: Any, theirs: Any) -> bool:
    return type(ours) is type(theirs) and np.array(ours).tobytes() == np.array(theirs).tobytes()


NUMBERS = (0.0, -0.0, 0.05, 0.3, 7.0, -1.0, 1e200, math.inf, math.nan)
KINDS = (float, np.float64, np.float32)


@pytest.mark.parametrize("sigmoid", ["long_tail", "gaussian", "hyperbolic"])
def test_tolerance_has_the_types_and_bits_of_the_original(sigmoid: str) -> None:
    original = metaworld("utils.reward_utils").tolerance
    ours = fast_arithmetic.tolerance_like(original)
    everything = itertools.product(
        itertools.product(KINDS, NUMBERS),
        itertools.product(KINDS, (0.0, 0.2, 1e-200, math.nan)),
        ((0, 0.05), (0.05, 0.05), (-math.inf, 0.0)),
    )
    with np.errstate(all="ignore"):
        for (kind, x), (kind_of_margin, margin), bounds in everything:
            given = kind(x), bounds, kind_of_margin(margin), sigmoid
            assert same(ours(*given), original(*given)), given


@pytest.mark.parametrize("sigmoid", ["long_tail", "gaussian"])
def test_tolerance_squares_like_the_original(sigmoid: str) -> None:
    """A product differs from a power of two in its last bit about once in a thousand times."""
    original = metaworld("utils.reward_utils").tolerance
    ours = fast_arithmetic.tolerance_like(original)
    for x in np.random.default_rng(2).uniform(0, 2, 6000).tolist():
        assert ours(x, (0, 0.01), 0.7, sigmoid) == original(x, (0, 0.01), 0.7, sigmoid)


@pytest.mark.parametrize(("bounds", "margin"), [((0.1, 0.0), 0.1), ((0.0, 0.1), -0.1)])
def test_tolerance_refuses_what_the_original_refuses(
    bounds: tuple[float, float], margin: float
) -> None:
    original = metaworld("utils.reward_utils").tolerance
    for tolerance in (original, fast_arithmetic.tolerance_like(original)):
        with pytest.raises(ValueError, match="must be"):
            tolerance(0.5, bounds=bounds, margin=margin)


LENGTHS = [fast_arithmetic.BlasLengths, fast_arithmetic.lengths_here()]
ARRAYS = [np.array(each, dtype) for each in ([3.0, 0.1, -7.0], [[1.0, 2.0]]) for dtype in "fd"]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("value", [*ARRAYS, np.float64(-0.3), np.float32(0.3), -0.3])
def test_norms_are_numpys(value: Any, lengths: Any) -> None:
    norm = fast_arithmetic.norm_like(lengths.of)
    assert same(norm(value), np.linalg.norm(value))
    if np.ndim(value):
        assert same(norm(value, ord=2), np.linalg.norm(value, ord=2))
        assert same(norm(value, axis=0), np.linalg.norm(value, axis=0))


@pytest.mark.parametrize("lengths", LENGTHS)
def test_lengths_are_numpys(lengths: Any) -> None:
    for vector in np.random.default_rng(1).normal(size=(500, 3)):
        x, y, _ = vector.tolist()
        assert lengths.of(vector) == np.linalg.norm(vector)
        assert lengths.of(vector[:2]) == lengths.of_two(x, y) == np.linalg.norm(vector[:2])


@pytest.mark.parametrize("value", ARRAYS)
def test_stacks_and_copies_are_numpys(value: Any) -> None:
    assert same(fast_arithmetic.hstack((value, value)), np.hstack((value, value)))
    assert same(fast_arithmetic.copy(value), np.copy(value))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [-2.0, -1.0, -0.0, 0.5, 1.0, 3.0, math.nan])
def test_clipping_is_numpys(kind: Any, number: float) -> None:
    for low in (-1, 0.0, np.float64(-0.5)):
        assert same(fast_arithmetic.clip(kind(number), low, 1), np.clip(kind(number), low, 1))


def right_angled() -> Iterator[Any]:
    """The 24 rotations by right angles: every tie that there is."""
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), order] = signs
            if np.linalg.det(matrix) > 0:
                yield matrix


def test_quaternions_are_scipys() -> None:
    original = metaworld("envs.sawyer_push_v3").Rotation
    ours = fast_arithmetic.rotation_like(original)
    tilted = np.array([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    skewed = tilted + 1e-3  # SciPy straightens it
    matrices = list(right_angled())
    for matrix in [*matrices, *(tilted @ each for each in matrices), skewed]:
        assert same(ours.from_matrix(matrix).as_quat(), original.from_matrix(matrix).as_quat())
    assert fast_arithmetic.quaternion(skewed) is None

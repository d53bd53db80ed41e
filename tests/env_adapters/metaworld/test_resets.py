"""A start equals a plain reset to the bit, whatever was played before, and costs little."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env_adapters.disk_cache import DiskCache
from env_adapters.metaworld import ALL_TASKS, resets
from env_adapters.metaworld.library import mujoco
from env_adapters.metaworld.resets import SettledStates
from env_adapters.metaworld.shared_env import Models, SharedEnvs
from env_adapters.metaworld.simulator import Simulator
from tests.programs import run_python

pytestmark = pytest.mark.slow

ACTIONS = np.random.default_rng(2).uniform(-1, 1, (12, 4)).astype(np.float32)
SETTLING = 249  # substeps at once; an episode takes 5 at a time
OTHER_PROCESS = """
import json, sys
import mujoco
from env_adapters.metaworld.simulator import SimulatorPool

substeps, step = [], mujoco.mj_step
def count(model, data, nstep=1):
    substeps.append(nstep)
    step(model, data, nstep=nstep)
mujoco.mj_step = count
simulator = SimulatorPool().take(sys.argv[1])
goal = json.loads(sys.argv[2])
print(json.dumps([simulator.start(goal, goal_visible=True).tolist(), sum(substeps)]))
"""


@pytest.fixture
def make(models: Models) -> Callable[..., Simulator]:
    """Makes simulators that share compiled models; where the hand rests, only if asked to."""

    def give(task: str, settled_states: SettledStates | None = None) -> Simulator:
        return Simulator(task, SharedEnvs(models, settled_states or SettledStates(DiskCache(None))))

    return give


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one whenever a hand settles."""
    counted: list[int] = []
    step = mujoco().mj_step

    def count(model: Any, data: Any, nstep: int = 1) -> None:
        if nstep == SETTLING:
            counted.append(nstep)
        step(model, data, nstep=nstep)

    monkeypatch.setattr(mujoco(), "mj_step", count)
    return counted


def bits(value: Any) -> Any:
    """Type, shape and bits of an attribute that resets or steps set."""
    if isinstance(value, list):
        return [bits(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    return type(value), repr(value)


def attributes(env: Any) -> dict[str, Any]:
    """Those that an episode depends on; views show MuJoCo's data, which is looked at itself."""
    plain = (bool, int, float, list, np.generic, np.ndarray, type(None))
    return {
        name: bits(value)
        for name, value in vars(env).items()
        if isinstance(value, plain) and name != "_last_stable_obs" and not is_view(env, value)
    }


def is_view(env: Any, value: Any) -> bool:
    memories = (env.data.xpos, env.data.site_xpos, env.data.geom_xpos)
    return isinstance(value, np.ndarray) and any(np.shares_memory(value, each) for each in memories)


def views(env: Any) -> set[str]:
    return {name for name, value in vars(env).items() if is_view(env, value)}


def physics(env: Any) -> tuple[bytes, ...]:
    kind = mujoco().mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco().mj_stateSize(env.model, kind))
    mujoco().mj_getState(env.model, env.data, state, kind)
    return state.tobytes(), env.model.body_pos.tobytes(), env.model.site_pos.tobytes()


@pytest.mark.parametrize("task", ALL_TASKS)
def test_a_start_equals_a_plain_reset_whatever_was_played(
    task: str, draw_two: Any, start_plain: Any, make: Any
) -> None:
    first, second = draw_two(task)
    simulator = make(task)
    played = [(first, True), (second, True), (first, True), (second, False), (second, True)]
    for goal, visible in played:
        env, expected = start_plain(task, goal, goal_visible=visible)
        frames = simulator.start(goal, goal_visible=visible)
        assert bits(frames) == bits(expected)
        assert attributes(simulator._env) == attributes(env)
        assert views(simulator._env) == views(env)
        assert physics(simulator._env) == physics(env)
        for action in ACTIONS:
            observation, reward, _, _, info = env.step(action)
            frames, earned, success = simulator.step(action)
            assert (bits(frames), float(earned)) == (bits(observation), float(reward))
            assert success == (info["success"] == 1.0)
        vars(env).setdefault("sawyer_observation_space", None)  # upstream deletes it unasked


@pytest.mark.parametrize("task", ALL_TASKS)
def test_resets_set_no_attribute_of_a_kind_that_is_not_kept(
    task: str, start_plain: Any, draw_two: Any
) -> None:
    (env, _), recorded = start_plain(task, draw_two(task)[0]), {}
    env._freeze_rand_vec = False  # goals are drawn
    original = type(env)

    def record(self: Any, name: str, value: Any) -> None:
        recorded[name] = value
        object.__setattr__(self, name, value)

    env.__class__ = type(original.__name__, (original,), {"__setattr__": record})
    for _ in range(2):
        env.reset()
    object.__setattr__(env, "__class__", original)
    assert "_target_pos" in recorded
    assert {n: v for n, v in recorded.items() if not isinstance(v, resets._PLAIN)} == {}


def test_a_known_goal_is_started_without_physics(
    draw_two: Any, make: Any, settled: list[int]
) -> None:
    simulator, goals = make("door-open-v3"), draw_two("door-open-v3")
    settled.clear()
    for goal in goals * 3:
        simulator.start(goal, goal_visible=True)
    assert len(settled) == 2


def test_goals_that_move_no_body_share_where_the_hand_rests(
    draw_two: Any, make: Any, settled: list[int]
) -> None:
    simulator, goals = make("push-v3"), draw_two("push-v3")
    settled.clear()
    for goal in goals:
        simulator.start(goal, goal_visible=True)
    assert len(settled) == 1


def test_simulators_share_where_the_hand_rests(
    draw_two: Any, make: Any, settled: list[int]
) -> None:
    settled_states, (goal, _) = SettledStates(DiskCache(None)), draw_two("window-open-v3")
    settled.clear()
    frames = [
        make("window-open-v3", settled_states).start(goal, goal_visible=True) for _ in range(2)
    ]
    assert len(settled) == 1
    assert bits(frames[0]) == bits(frames[1])


def test_a_start_is_not_changed_by_who_got_it(draw_two: Any, make: Any) -> None:
    simulator, (goal, _) = make("reach-v3"), draw_two("reach-v3")
    first = simulator.start(goal, goal_visible=True)
    expected = bits(first)
    for _ in range(2):
        first[:] = 7
        first = simulator.start(goal, goal_visible=True)
        assert bits(first) == expected


def test_few_starts_are_kept(draw_two: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resets, "_MOST_STARTS", 1)
    simulator, (first, second) = make("reach-v3"), draw_two("reach-v3")
    seen = [bits(simulator.start(goal, goal_visible=True)) for goal in (first, second) * 2]
    assert seen[:2] == seen[2:]
    assert len(simulator._shared.resets._starts) == 1


def test_in_other_versions_resets_are_plain(
    draw_two: Any, make: Any, start_plain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resets, "is_verified", lambda: False)
    simulator, (goal, _) = make("push-v3"), draw_two("push-v3")
    monkeypatch.setattr(SettledStates, "settle", lambda *_: pytest.fail("settled by us"))
    for _ in range(2):
        expected = start_plain("push-v3", goal)[1]
        assert bits(simulator.start(goal, goal_visible=True)) == bits(expected)


@pytest.mark.parametrize("task", ["door-open-v3", "box-close-v3", "push-v3"])
def test_another_process_starts_without_physics(
    task: str, draw_two: Any, start_plain: Any, make: Any, tmp_path: Path
) -> None:
    goal = draw_two(task)[0]
    make(task, SettledStates(DiskCache(tmp_path))).start(goal, goal_visible=True)
    done = run_python(OTHER_PROCESS, task, json.dumps(goal), REGLUE_CACHE_DIR=str(tmp_path))
    frames, substeps = json.loads(done.stdout)
    assert bits(np.array(frames)) == bits(start_plain(task, goal)[1])
    assert substeps <= 1 + 2 * 5  # box-close takes a step in each of its two reset_model


@pytest.mark.parametrize(
    "value", [b"", bytes(8), np.full(276, np.nan).tobytes()], ids=["none", "short", "not finite"]
)
def test_what_cannot_be_a_state_is_computed_anew(
    value: bytes, draw_two: Any, start_plain: Any, make: Any, settled: list[int], tmp_path: Path
) -> None:
    """Not damaged, so that the cache lets it through: written by another program."""
    goal, cache = draw_two("reach-v3")[0], DiskCache(tmp_path)
    expected = bits(start_plain("reach-v3", goal)[1])

    class Strange(DiskCache):
        def get(self, key: Any) -> bytes | None:
            return value if super().get(key) is not None else None

    make("reach-v3", SettledStates(cache)).start(goal, goal_visible=True)
    settled.clear()
    frames = make("reach-v3", SettledStates(Strange(tmp_path))).start(goal, goal_visible=True)
    assert (bits(frames), len(settled)) == (expected, 1)

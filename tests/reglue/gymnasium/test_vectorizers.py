"""Other people's vector environments, wrappers and training loops, over single environments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

import reglue
import reglue.gymnasium
from tests.reglue.gymnasium.walks import PAD, WALK, Walk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("tracker", "tidy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

KINDS: list[Any] = [SyncVectorEnv, AsyncVectorEnv]


@pytest.fixture
def tracker() -> None:
    """A process that outlives its first user, where other tests chose `spawn`."""
    resource_tracker.ensure_running()


def rows(observations: Any) -> list[Any]:
    return [tuple(row) for row in np.round(observations, 6).tolist()]


@pytest.mark.parametrize("how", ["sync", "async", "vector_entry_point"])
@pytest.mark.parametrize("name", ["reglue/mountain-car", "reglue/cart-pole"])
def test_gymnasium_makes_vectors(name: str, how: str) -> None:
    """Start seeds of 2**63 and more are in half of all episodes."""
    with closing(gymnasium.make_vec(name, num_envs=3, vectorization_mode=how)) as envs:
        found = []
        for seed in (5, *[None] * 10):
            seen, infos = envs.reset(seed=seed)
            assert seen in envs.observation_space
            assert len(set(rows(seen))) == 3
            found += infos.get("start_seed", np.zeros(0, np.uint64)).tolist()
        assert envs.step(envs.action_space.sample())[1].dtype == np.float64
    assert len(set(found)) == (0 if how == "vector_entry_point" else 33)
    assert how == "vector_entry_point" or max(found) >= 2**63


@pytest.mark.parametrize("kind", KINDS)
def test_copies_play_different_episodes(kind: Any) -> None:
    def copies(name: str, **options: Any) -> Any:
        return kind([lambda: reglue.make(name, workers=0, **options)] * 3)

    with closing(copies("mountain-car")) as envs, closing(copies("mountain-car")) as again:
        first, second = (envs.reset(seed=5)[0] for _ in range(2))
        assert len(set(rows(first) + rows(second))) == 6
        envs.close()
        assert np.array_equal(again.reset(seed=5)[0], first)
        assert np.array_equal(again.reset()[0], second)


def test_copies_of_many_tasks_share_them() -> None:
    """If agents see their task, each copy goes round all, and they begin with different ones."""

    def three() -> Any:
        return reglue.make("MT:reach-v3,push-v3,pick-place-v3", workers=0)

    with closing(SyncVectorEnv([three] * 3)) as envs:
        seen = [envs.reset(seed=seed)[0] for seed in (4, None, None)]
    tasks = [rows[:, 39:].argmax(axis=1).tolist() for rows in seen]
    assert tasks == [[1, 2, 0], [2, 0, 1], [0, 1, 2]]


def test_copies_in_one_program_that_play_the_same_say_so() -> None:
    with (
        closing(SyncVectorEnv([lambda: reglue.make("mountain-car")] * 3)) as envs,
        pytest.warns(UserWarning, match="reset\\(seed=") as warned,
    ):
        assert len(set(rows(envs.reset()[0]))) == 1
    assert len({str(each.message) for each in warned}) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_of_ours_is_one_of_theirs(kind: Any, mode: AutoresetMode) -> None:
    """Spaces, values, autoreset and statistics, step by step."""

    def over(make: Callable[[], Any]) -> Any:
        return wrappers.vector.RecordEpisodeStatistics(kind([make] * 3, autoreset_mode=mode))

    rng = np.random.default_rng(0)
    with closing(over(lambda: reglue.make(WALK))) as ours, closing(over(Walk)) as theirs:
        assert ours.observation_space == theirs.observation_space
        assert ours.single_action_space == theirs.single_action_space
        assert ours.metadata["autoreset_mode"] is mode
        assert np.array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
        for _ in range(20):
            actions = rng.integers(0, 3, 3)
            got, wanted = ours.step(actions), theirs.step(actions)
            for one, other in zip(got[:4], wanted[:4], strict=True):
                assert one.tolist() == other.tolist()
            assert ("episode" in got[4]) == ("episode" in wanted[4])
            if "episode" in wanted[4]:
                for word in ("r", "l"):
                    assert np.array_equal(got[4]["episode"][word], wanted[4]["episode"][word])
            if "final_obs" in wanted[4]:
                assert got[4]["_final_obs"].tolist() == wanted[4]["_final_obs"].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_dicts_are_batched(kind: Any) -> None:
    with closing(kind([lambda: reglue.make(PAD)] * 2)) as envs:
        assert envs.observation_space == batch_space(envs.single_observation_space, 2)
        seen, _ = envs.reset(seed=0)
        assert seen in envs.observation_space
        actions = envs.action_space.sample()
        seen, *_ = envs.step(actions)
        assert seen["camera/left"][:, 0, 0].tolist() == (actions["grip"] + 1).tolist()


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "autoreset": wrappers.Autoreset,
    "clipped rewards": lambda env: wrappers.ClipReward(env, -1.0, 0.0),
    "delayed": lambda env: wrappers.DelayObservation(env, 1),
    "flat": wrappers.FlattenObservation,
    "normalized": wrappers.NormalizeObservation,
    "normalized rewards": wrappers.NormalizeReward,
    "rescaled": lambda env: wrappers.RescaleObservation(env, np.float32(0.0), np.float32(1.0)),
    "stacked": lambda env: wrappers.FrameStackObservation(env, 2),
    "statistics": wrappers.RecordEpisodeStatistics,
    "sticky": lambda env: wrappers.StickyAction(env, 0.5),
    "time-aware": lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 3)),
    "time limit": lambda env: wrappers.TimeLimit(env, 3),
    "transformed": lambda env: wrappers.TransformReward(env, lambda reward: 2 * float(reward)),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_gymnasiums_wrappers_wrap_ours_as_theirs(wrap: Callable[[Any], Any]) -> None:
    with closing(wrap(reglue.make(WALK))) as ours, closing(wrap(Walk())) as theirs:
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        over = True
        for step in range(12):
            if over:
                got, wanted = (
                    env.reset(seed=1 if step == 0 else None)[0] for env in (ours, theirs)
                )
                assert np.array_equal(got, wanted)
            (got, *told, got_info), (wanted, *tells, info) = (
                env.step(step % 3) for env in (ours, theirs)
            )
            assert np.array_equal(got, wanted)
            assert told == tells
            over = (told[1] or told[2]) and not isinstance(ours, wrappers.Autoreset)
            assert ("episode" in got_info) == ("episode" in info)


def test_a_video_has_each_frame_once(tmp_path: Path) -> None:
    env = gymnasium.make("reglue/cart-pole", render_mode="rgb_array")
    frames: list[int] = []
    with closing(wrappers.RenderCollection(env, pop_frames=False)) as kept:
        kept.reset(seed=0)
        over = False
        while not over:
            over = kept.step(1)[2]
            frames.append(len(kept.render()))
    assert frames == list(range(2, len(frames) + 2))


# Training loops.


def test_a_cleanrl_script_runs() -> None:
    """Its parts of PPO that know the environment: ids, thunks, and a seed for all of them."""

    def thunk(name: str) -> Callable[[], Any]:
        def made() -> Any:
            return wrappers.RecordEpisodeStatistics(gymnasium.make(name))

        return made

    steps, count = 64, 4
    with closing(SyncVectorEnv([thunk("reglue/cart-pole") for _ in range(count)])) as envs:
        shape: Any = envs.single_observation_space.shape
        kept = np.zeros((steps, count, *shape), np.float32)
        seen, _ = envs.reset(seed=1)
        assert len(set(rows(seen))) == count
        lengths: list[int] = []
        for step in range(steps):
            kept[step] = seen
            seen, rewards, *_, infos = envs.step(envs.action_space.sample())
            assert rewards.shape == (count,)
            if "episode" in infos:
                lengths += infos["episode"]["l"][infos["_episode"]].tolist()
        assert len(lengths) >= count
        assert len(set(rows(kept.reshape(-1, *shape)))) == steps * count


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", ["reglue/mountain-car", "reglue/cart-pole"])
def test_stable_baselines3_makes_an_id(name: str) -> None:
    """One that draws and one that does not: it asks for `rgb_array` first."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    PPO("MlpPolicy", name, n_steps=16, batch_size=16, n_epochs=1, seed=3).learn(16)
    with closing(make_vec_env(name, n_envs=4, seed=11)) as envs:
        assert len(set(rows(envs.reset()))) == 4
        assert PPO("MlpPolicy", envs, n_steps=8, batch_size=16, n_epochs=1).learn(32)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "name", ["mountain-car", "gridworld", "access-control", "gymnasium:Pendulum-v1", WALK, PAD]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_stable_baselines3s_check_passes(name: str) -> None:
    from stable_baselines3.common.env_checker import check_env

    with closing(reglue.make(name)) as env:
        check_env(env)

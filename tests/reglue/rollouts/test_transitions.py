"""Transitions are those of the unbroken stream, however it was cut into epochs and environments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import gymnasium
import numpy as np
import numpy.testing as npt
from gymnasium.vector import SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from reglue.rollouts import collect_episodes, collect_steps, transitions
from reglue.spec import Array
from tests.reglue.rollouts.rollout_toys import BOTH, MODES, TERMINATES, TRUNCATES, Toy


class Named(Toy):
    """A Toy whose rewards depend on its actions, and whose observations on its number."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (4,), np.float64)

    def __init__(self, number: int, episodes: Sequence[tuple[int, str]]) -> None:
        super().__init__([length for length, _ in episodes], [kind for _, kind in episodes])
        self.number, self.action = number, 0

    def step(self, action: int) -> tuple[Array, float, bool, bool, Any]:
        self.action = int(action)
        _, _, terminated, truncated, info = super().step(action)
        return self._observation(), self.action + self.time / 8, terminated, truncated, info

    def _observation(self) -> Array:
        return np.array([self.number, self.episode, self.time, self.action], float)


def policy(observations: Array) -> tuple[Array, dict[str, Array]]:
    """A function of each row alone."""
    mixed = observations @ [31.0, 17.0, 7.0, 3.0]
    return mixed.astype(int) % 1000, {"value": np.sin(mixed), "pair": observations[:, :2] * 2}


@dataclass(frozen=True)
class Stream:
    """One environment, stepped alone: its transitions, each at a step of the vector environment."""

    number: int
    episodes: Sequence[tuple[int, str]]
    pauses: bool  # a step of the vector environment resets, and does nothing else

    def transitions(self) -> Iterator[tuple[int, dict[str, Any]]]:
        env, at = Named(self.number, self.episodes), 0
        while True:
            first = {**ZEROS, **answered(env.reset()[0])}
            while not first["done"]:
                observation, reward, terminated, truncated, _ = env.step(int(first["action"]))
                second = {
                    "reward": reward,
                    "terminated": terminated,
                    "truncated": truncated,
                    "done": terminated or truncated,
                    "bootstrap": not terminated,
                    "timestep": first["timestep"] + 1,
                    "cumulated_reward": first["cumulated_reward"] + reward,
                    **answered(observation),
                }
                yield at, {name: [first[name], second[name]] for name in second}
                first, at = second, at + 1
            at += self.pauses


ZEROS: dict[str, Any] = {
    "reward": 0.0,
    "terminated": False,
    "truncated": False,
    "done": False,
    "bootstrap": True,
    "timestep": 0,
    "cumulated_reward": 0.0,
}


def answered(observation: Array) -> dict[str, Any]:
    action, more = policy(observation[None])
    return {
        "observation": observation,
        "action": action[0],
        **{name: a[0] for name, a in more.items()},
    }


EPISODES = st.lists(
    st.tuples(st.integers(1, 7), st.sampled_from([TERMINATES, TRUNCATES, BOTH])), min_size=1
)


@settings(max_examples=200, deadline=None)
@given(
    envs=st.lists(EPISODES, min_size=1, max_size=4),
    mode=st.sampled_from(MODES),
    rows=st.integers(1, 12),
    overlap=st.integers(0, 3),
    epochs=st.integers(1, 4),
)
def test_transitions_are_those_of_the_unbroken_stream(
    envs: list[list[tuple[int, str]]], mode: str, rows: int, overlap: int, epochs: int
) -> None:
    rows = max(rows, overlap + 1, 2)
    vector = SyncVectorEnv(
        [partial(Named, k, each) for k, each in enumerate(envs)],
        autoreset_mode=mode,
    )
    last = epochs * rows  # more steps than are made
    streams = [Stream(k, each, pauses=mode == "NextStep") for k, each in enumerate(envs)]
    wanted = sorted(
        ((at, k, pair) for k, stream in enumerate(streams) for at, pair in until(last, stream)),
        key=lambda each: each[:2],
    )
    epoch = 0
    for rollout in islice(collect_steps(vector, policy, rows, overlap=overlap), epochs):
        assert rollout["done"].shape == (rows, len(envs))
        begin = epoch * (rows - overlap)
        pairs = [pair for at, _, pair in wanted if begin <= at < begin + rows - 1]
        check(transitions(rollout), pairs)
        epoch += 1
    assert epoch == epochs


@settings(max_examples=60, deadline=None)
@given(
    envs=st.lists(EPISODES, min_size=1, max_size=4),
    mode=st.sampled_from(MODES),
    number=st.integers(1, 9),
)
def test_episodes_are_those_of_each_environment_alone(
    envs: list[list[tuple[int, str]]], mode: str, number: int
) -> None:
    """Of the first round; which episodes later rounds play depends on how often a wait resets."""
    number = min(number, len(envs))
    vector = SyncVectorEnv(
        [partial(Named, k, each) for k, each in enumerate(envs)],
        autoreset_mode=mode,
    )
    first = [
        list(islice(Stream(k, each, True).transitions(), each[0][0])) for k, each in enumerate(envs)
    ]
    steps = sorted(
        ((at, k, pair) for k, stream in enumerate(first[:number]) for at, pair in stream),
        key=lambda each: each[:2],
    )
    rollout = collect_episodes(vector, policy, number)
    assert rollout["done"].shape == (1 + max(each[0][0] for each in envs[:number]), number)
    assert rollout["done"][-1].all()
    assert rollout["reward"].sum() == rollout["cumulated_reward"][-1].sum()
    check(transitions(rollout), [pair for _, _, pair in steps])


def until(last: int, stream: Stream) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, pair in stream.transitions():
        if at >= last:
            return
        yield at, pair


def check(got: dict[str, Array], wanted: list[dict[str, Any]]) -> None:
    """Equal to the bit, in number and order."""
    assert got["done"].shape == (2, len(wanted))
    for name, array in got.items():
        for place in range(2):
            npt.assert_array_equal(
                array[place],
                np.reshape([pair[name][place] for pair in wanted], array[place].shape),
                name,
            )

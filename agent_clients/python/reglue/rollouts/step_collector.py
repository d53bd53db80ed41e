"""Epochs of a fixed number of rows, with autoreset."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from reglue.errors import BadArgument
from reglue.rollouts.policy import CheckedPolicy, Policy
from reglue.rollouts.rollout import Finals, Recorder, Rollout, first_frame, integer
from reglue.rollouts.vector_env_stream import Arrival, Flags, VectorEnvStream, named, rebuilt
from reglue.spec import Arrays


def collect_steps(
    env: Any,
    policy: Policy,
    n: int,
    *,
    budget: int | None = None,
    overlap: int = 1,
    seed: int | None = None,
    on_start: Callable[[Flags], None] | None = None,
) -> Iterator[Rollout]:
    """Play without end, in epochs of `n` rows. The policy may learn between two epochs.

    An epoch begins with the last row of the one before, with its action and what the policy
    returned then, so that no transition is lost. Every epoch has arrays of its own; the iterator
    keeps `overlap` rows and nothing else.

    In autoreset modes SAME_STEP and DISABLED the policy also gets the final
    observations, at the end of an epoch, so that their values are known; its actions there are not
    played.

    Args:
        env: a gymnasium.vector.VectorEnv of any autoreset mode. The first epoch resets it.
        policy: maps observations, (env, …), to actions, or to `actions, {"value": …}`, or to a
            dict with the entry `action`; arrays have the shape (env, …). What it returns is kept.
        n: rows of an epoch.
        budget: most steps in all, times the number of environments, resets included. The last
            epoch is the last that fits. None: no end.
        overlap: rows at the beginning of an epoch that repeat the end of the one before.
        seed: of the environments' first reset, which have `seed`, `seed + 1`, …
        on_start: for a policy with state: called before the policy is, with a mask, bool (env,),
            of the environments whose episodes begin. Needs autoreset mode NEXT_STEP.

    Returns:
        An iterator of rollouts of shape (n, env, …).

    Raises:
        NotAnEnvironment: if `env` is no vector environment.
        BadArgument: for illegal numbers, or a policy whose answer does not fit.
        EnvironmentFault: if final observations are missing, in autoreset mode SAME_STEP.
        TrainingOver: if `env` is a glue's, and it gives out no more episodes to learn from.
    """
    stream = VectorEnvStream(env)
    checked_policy = CheckedPolicy(policy, stream.num_envs, stream.action_space)
    overlap = integer("overlap", overlap, 0)
    n = integer("n", n, 1)
    if n <= overlap:
        raise BadArgument(
            got=f"epochs of {n} rows, of which {overlap} repeat the epoch before (overlap=)",
            wanted=f"{overlap + 1} rows or more",
        )
    seed = None if seed is None else integer("seed", seed, 0)
    if on_start is not None and stream.resets_in_same_step:
        raise BadArgument(
            got=(
                f"on_start= in autoreset mode {stream.mode}, in which a policy acts twice "
                "where an episode ends"
            ),
            wanted="autoreset_mode=NEXT_STEP for a policy with state",
        )
    epochs = _number_of_epochs(n, overlap, stream.num_envs, budget)
    return _play_epochs(_Epochs(stream, checked_policy, on_start, n, overlap), epochs, seed)


def _number_of_epochs(n: int, overlap: int, num_envs: int, budget: int | None) -> int | None:
    """The number of epochs that fit in the budget. Raises BadArgument if none does."""
    if budget is None:
        return None
    budget = integer("budget", budget, 0)
    first, later = (n - 1) * num_envs, (n - overlap) * num_envs
    if budget < max(first, 1):
        raise BadArgument(
            got=f"a budget of {budget} steps",
            wanted=(
                f"at least the {max(first, 1)} of one epoch: {n - 1} steps of "
                f"{num_envs} environments"
            ),
        )
    return 1 + (budget - first) // later


def _play_epochs(play: _Epochs, epochs: int | None, seed: int | None) -> Iterator[Rollout]:
    """Each epoch in turn. No variable here holds an epoch, so that the program can free it."""
    play.reset(seed)
    for _ in count() if epochs is None else range(epochs):
        yield play.next()


class _Epochs:
    """Plays one epoch after another, and keeps what they share."""

    _recorder: Recorder
    _observation: Any  # the newest, and what the policy chose for it
    _actions: Any

    def __init__(
        self,
        stream: VectorEnvStream,
        policy: CheckedPolicy,
        on_start: Callable[[Flags], None] | None,
        n: int,
        overlap: int,
    ) -> None:
        self._stream, self._policy, self._on_start = stream, policy, on_start
        self._rows, self._overlap, self._num_envs = n, overlap, stream.num_envs
        self._finals = _NO_FINALS  # of the overlap
        self._done = np.zeros(self._num_envs, bool)
        self._timestep = np.zeros(self._num_envs, np.int64)
        self._total = np.zeros(self._num_envs)

    def reset(self, seed: int | None) -> None:
        """Reset the environments; the first row is the first epoch's overlap."""
        self._recorder = Recorder(1, self._num_envs)
        observation = self._stream.reset(seed)
        frame = {**named(observation), **first_frame(self._num_envs)}
        self._record(0, frame, observation, np.ones(self._num_envs, bool))
        self._overlap_rows = self._recorder.arrays
        self._idle = np.zeros((1, self._num_envs), bool)

    def next(self) -> Rollout:
        """Play one epoch."""
        self._recorder, ended = Recorder(self._rows, self._num_envs), []
        overlap = len(self._idle)
        idle = np.zeros((self._rows, self._num_envs), bool)
        idle[:overlap] = self._idle
        for row in range(overlap):
            self._recorder.put(row, {name: each[row] for name, each in self._overlap_rows.items()})
        for row in range(overlap, self._rows):
            arrival = self._step(row)
            idle[row] = arrival.idle
            if len(arrival.ended):
                rows = np.full(len(arrival.ended), row)
                ended.append(Finals(rows, arrival.ended, arrival.finals))
        rollout = self._rollout(self._recorder.arrays, _joined(ended), idle)
        shared = self._rows - self._overlap
        self._overlap_rows = {name: each[shared:].copy() for name, each in rollout.items()}
        self._finals, self._idle = _from(rollout.finals or _NO_FINALS, shared), idle[shared:]
        del self._recorder  # as its arrays are the program's now
        return rollout

    def _step(self, row: int) -> Arrival:
        """Play the newest row's actions, and write the row to which they lead."""
        arrival = self._stream.step(self._actions)
        flags = arrival.flags()
        self._timestep = np.where(self._done, 0, self._timestep) + ~arrival.begins
        self._total = np.where(self._done, 0.0, self._total) + arrival.reward
        self._done = flags["done"]
        sums = {"timestep": self._timestep, "cumulated_reward": self._total}
        frame = {**named(arrival.observation), **flags, **sums}
        self._record(row, frame, arrival.observation, arrival.begins)
        return arrival

    def _record(self, row: int, frame: Arrays, observation: Any, begins: Flags) -> None:
        self._recorder.put(row, frame)  # before the policy may write to it
        if self._on_start is not None and begins.any():
            self._on_start(begins)
        answer = self._policy(observation)
        self._recorder.put(row, answer.arrays)
        self._observation, self._actions = observation, answer.actions

    def _rollout(self, arrays: Arrays, ended: Finals, idle: Flags) -> Rollout:
        """The rows as a rollout. If final observations are no rows, the policy gets those of
        the episodes that ended in this epoch.
        """
        self._actions = copy.deepcopy(self._actions)  # the policy may answer in the same memory
        same_step = self._stream.resets_in_same_step
        ends = np.zeros_like(idle) if same_step else arrays["done"]
        if idle.any():
            ends = ends | idle
            ends[:-1] |= idle[1:]
        if not same_step:
            return Rollout(arrays, ends)
        if number := len(ended.rows):
            answers = self._answers(ended.arrays, number)
            ended = replace(ended, arrays={**ended.arrays, **answers})
        return Rollout(arrays, ends, _joined([self._finals, ended]))

    def _answers(self, observations: Arrays, number: int) -> Arrays:
        """The policy's, in batches of a row for each environment; the last row fills up a batch."""
        parts = []
        for first in range(0, number, self._num_envs):
            rows = np.minimum(np.arange(first, first + self._num_envs), number - 1)
            batch = {name: each[rows] for name, each in observations.items()}
            answer = self._policy(rebuilt(self._observation, batch))
            parts.append({name: a[: number - first].copy() for name, a in answer.arrays.items()})
        return _concatenated(parts)


_NO_FINALS = Finals(np.empty(0, np.intp), np.empty(0, np.intp), {})


def _from(finals: Finals, row: int) -> Finals:
    """The finals of the rows from `row` on; `row` becomes row 0."""
    is_later = finals.rows >= row
    arrays = {name: each[is_later] for name, each in finals.arrays.items()}
    return Finals(finals.rows[is_later] - row, finals.envs[is_later], arrays)


def _joined(parts: Sequence[Finals]) -> Finals:
    """One Finals of all parts; empty parts have no arrays and are left out."""
    parts = [part for part in parts if len(part.rows)] or [_NO_FINALS]
    return Finals(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.envs for part in parts]),
        _concatenated([part.arrays for part in parts]),
    )


def _concatenated(parts: Sequence[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

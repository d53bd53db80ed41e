"""Whole episodes, without autoreset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reglue.errors import EnvironmentFault, UnknownName
from reglue.rollouts.policy import CheckedPolicy, Policy
from reglue.rollouts.rollout import Recorder, Rollout, first_frame, integer
from reglue.rollouts.vector_env_stream import Arrival, Flags, VectorEnvStream, named, rebuilt
from reglue.spec import Arrays

_FIRST_ROWS = 64  # of the arrays, before they grow


def collect_episodes(
    env: Any,
    policy: Policy,
    n: int,
    *,
    stop: str = "done",
    rows: int | None = None,
    seed: int | None = None,
    on_start: Callable[[Flags], None] | None = None,
) -> Rollout:
    """Play `n` episodes, one in each column of the rollout.

    The environments play one episode each, then the next round: column k is episode `k %
    num_envs` of round `k // num_envs`, so short episodes do not crowd out long ones. An environment
    that has finished waits for the others of its round: it repeats its last frame, with reward 0,
    up to the longest episode's end. `rollout["cumulated_reward"][-1]` are the n returns.

    A vector environment cannot pause one of its environments, so those that wait, and the columns
    from `n` on in the last round, play on unseen. Afterwards it needs a reset.

    Args:
        env: a gymnasium.vector.VectorEnv of any autoreset mode. It is reset now.
        policy: maps observations, (env, …), to actions, or to `actions, {"value": …}`, or to a
            dict with the entry `action`; arrays have the shape (env, …). What it returns is kept.
        n: episodes in all.
        stop: the flag at which an episode stops: "done", or an array of bool (env,) that the
            policy returns. An episode that is done stops in any case.
        rows: exactly so many rows: longer episodes are cut off, not done. None: as many as the
            longest episode has, so each must end.
        seed: round r is reset with seed `seed + r * num_envs`. Gymnasium's vector environments
            give their environments the seeds that follow, so episode k has `seed + k`, whatever
            their number.
        on_start: for a policy with state: called before the policy is, with a mask, bool (env,),
            of the environments whose episodes begin: all of them, once a round.

    Returns:
        A rollout of shape (time, n, …). `transitions` leaves out the repeated frames.

    Raises:
        NotAnEnvironment: if `env` is no vector environment.
        BadArgument: for illegal numbers, an unknown flag, or a policy whose answer does not fit.
        EnvironmentFault: if an environment has no episode to play, or final observations are
            missing, in autoreset mode SAME_STEP.
    """
    stream = VectorEnvStream(env, waits=True)
    checked_policy = CheckedPolicy(policy, stream.num_envs, stream.action_space)
    n = integer("n", n, 1)
    rows = None if rows is None else integer("rows", rows, 1)
    seed = None if seed is None else integer("seed", seed, 0)
    recorder = Recorder(rows or _FIRST_ROWS, n)
    rounds = []
    for first in range(0, n, stream.num_envs):
        observation = stream.reset(None if seed is None else seed + first)
        if on_start is not None:
            on_start(np.ones(stream.num_envs, bool))
        columns = slice(first, min(first + stream.num_envs, n))
        rounds.append(_Round(stream, checked_policy, stop, recorder, columns))
        rounds[-1].play(observation, rows)
    arrays = recorder.cut(max(each.length for each in rounds))
    for each in rounds:
        each.repeat_last_row(arrays)
    stopped_at = np.concatenate([each.stopped_at for each in rounds])
    return Rollout(arrays, np.arange(len(arrays["done"]))[:, None] >= stopped_at)


_NOT_YET = np.iinfo(np.int64).max


class _Round:
    """One episode in each environment that has a column."""

    length = 0  # rows written so far

    def __init__(
        self,
        stream: VectorEnvStream,
        policy: CheckedPolicy,
        stop: str,
        recorder: Recorder,
        columns: slice,
    ) -> None:
        self._stream, self._policy, self._stop = stream, policy, stop
        self._recorder, self._columns = recorder, columns
        self.stopped_at = np.full(columns.stop - columns.start, _NOT_YET)  # rows

    def play(self, observation: Any, rows: int | None) -> None:
        """Play until all episodes have stopped, or for `rows` rows."""
        frame: Arrays = {**named(observation), **first_frame(self._stream.num_envs)}
        while True:
            actions = self._record(frame, observation)
            stopped = self.stopped_at < self.length
            if self.length == rows or (rows is None and stopped.all()):
                return
            if not stopped.all():
                arrival = self._stream.step(actions)
                _check_plays(arrival.idle[: len(stopped)] & ~stopped)
                frame, observation = _next_frame(frame, arrival), arrival.observation
            if stopped.any():
                frame = self._with_repeated_rows(frame, stopped)
            observation = rebuilt(observation, frame)

    def repeat_last_row(self, arrays: Arrays) -> None:
        """Repeat the last row to the end of the columns, if another round was longer."""
        for name, array in arrays.items():
            last = 0.0 if name == "reward" else array[self.length - 1, self._columns]
            array[self.length :, self._columns] = last

    def _record(self, frame: Arrays, observation: Any) -> Any:
        """Write the next row; returns the policy's actions."""
        if self.length == self._recorder.rows:
            self._recorder.grow()
        self._put(frame)  # before the policy may write to it
        answer = self._policy(observation)
        self._put(answer.arrays)
        flag = self._flag({**frame, **answer.arrays}) | frame["done"]
        stops = flag[: len(self.stopped_at)] & (self.stopped_at == _NOT_YET)
        self.stopped_at[stops] = self.length
        self.length += 1
        return answer.actions

    def _put(self, values: Arrays) -> None:
        with_columns = {name: each[: len(self.stopped_at)] for name, each in values.items()}
        self._recorder.put(self.length, with_columns, self._columns)

    def _flag(self, arrays: Arrays) -> Flags:
        flags = {name: a for name, a in arrays.items() if a.dtype == bool and a.ndim == 1}
        if self._stop not in flags:
            raise UnknownName("flag", self._stop, flags)
        return flags[self._stop]

    def _with_repeated_rows(self, frame: Arrays, stopped: Flags) -> Arrays:
        """A copy of the frame, in which environments that have stopped repeat the newest row."""
        frame_copy = {name: values.copy() for name, values in frame.items()}
        for name, values in frame_copy.items():
            newest = self._recorder.arrays[name][self.length - 1, self._columns]
            values[: len(stopped)][stopped] = 0.0 if name == "reward" else newest[stopped]
        return frame_copy


def _check_plays(idle: Flags) -> None:
    """Raise EnvironmentFault if an environment that has not stopped is idle, (env,)."""
    if idle.any():
        raise EnvironmentFault(
            f"environments {np.flatnonzero(idle).tolist()} have no episode to play (info['idle']): "
            "the glue's run has none left, and this round cannot end"
        )


def _next_frame(frame: Arrays, arrival: Arrival) -> Arrays:
    """The next row without actions, (env, …): where an episode ended, the final observation."""
    observations = dict(named(arrival.observation))
    for name, final in arrival.finals.items():
        observations[name] = observations[name].copy()
        observations[name][arrival.ended] = final
    return {
        **observations,
        **arrival.flags(),
        "timestep": frame["timestep"] + 1,
        "cumulated_reward": frame["cumulated_reward"] + arrival.reward,
    }

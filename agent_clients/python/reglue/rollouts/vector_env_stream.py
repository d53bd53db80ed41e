"""Steps Gymnasium's vector environments; each autoreset mode gives the same kind of result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.error_message import brief
from reglue.errors import EnvironmentFault, MissingExtra, NotAnEnvironment, TrainingOver
from reglue.spec import Array, Arrays

NEXT_STEP, SAME_STEP, DISABLED = "NextStep", "SameStep", "Disabled"  # Gymnasium's AutoresetMode

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Arrival:
    """The result of one action in each environment."""

    observation: Any  # what the policy sees next: NumPy arrays in the space's structure
    reward: npt.NDArray[np.float64]  # (env,)
    terminated: Flags  # (env,)
    truncated: Flags  # (env,)
    begins: Flags  # (env,): no action led here: the environment was reset instead, or is idle
    idle: Flags  # (env,): it had no episode to play, says info["idle"]
    ended: npt.NDArray[np.intp]  # (K,): environments that were reset in this same step
    finals: Arrays  # (K, …): their last observations, by name; {} if there are none

    def flags(self) -> dict[str, Array]:
        """Reward and flags by the names of a rollout, (env,)."""
        return {
            "reward": self.reward,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "done": self.terminated | self.truncated,
            "bootstrap": ~self.terminated,
        }


class VectorEnvStream:
    """Steps a vector environment, and finds the last observation of each episode.

    Args:
        env: a gymnasium.vector.VectorEnv of any autoreset mode. With DISABLED the stream resets
            the environments that ended, by `options={"reset_mask": …}`.
        waits: nobody needs the next episode of an environment before all have ended: with
            DISABLED, reset it only if the others take another step, so that no episode begins that
            is not played.

    Raises:
        NotAnEnvironment: for anything else, also a single gymnasium.Env.
        MissingExtra: if Gymnasium is not installed.
    """

    def __init__(self, env: Any, *, waits: bool = False) -> None:
        try:
            from gymnasium import Env, vector
        except ImportError as error:
            raise MissingExtra("reglue.rollouts", "gymnasium", "gymnasium") from error
        if not isinstance(env, vector.VectorEnv):
            advice = "; make_vec(…, num_envs=1) makes one" if isinstance(env, Env) else ""
            raise NotAnEnvironment(got=brief(env), wanted=f"a gymnasium.vector.VectorEnv{advice}")
        self.mode = _mode(env)
        self.num_envs: int = env.num_envs
        self.action_space = env.action_space
        self._env = env
        self._waits = waits and self.mode == DISABLED
        self._ended = np.zeros(self.num_envs, bool)  # reset by the next step, or before it
        self._over: TrainingOver | None = None  # why there will be no other step

    @property
    def resets_in_same_step(self) -> bool:
        """Whether an episode's last observation and the next one's first come in one step."""
        return self.mode != NEXT_STEP

    def reset(self, seed: int | None) -> Any:
        """The first observation of every environment, which have the seeds `seed`, `seed + 1`, …"""
        observation, _ = self._env.reset(seed=seed)
        self._ended = np.zeros(self.num_envs, bool)
        return _of_numpy(observation)

    def step(self, actions: Any) -> Arrival:
        """Act in every environment. Raises EnvironmentFault for a lost final observation."""
        if self._over is not None:
            raise self._over
        if self._waits and self._ended.any():
            self._env.reset(options={"reset_mask": self._ended})
        observation, reward, terminated, truncated, info = self._env.step(actions)
        reward = np.array(reward, np.float64)
        terminated, truncated = np.array(terminated, bool), np.array(truncated, bool)
        idle = np.array(info["idle"], bool) if "idle" in info else np.zeros(self.num_envs, bool)
        begins, done = self._ended | idle, terminated | truncated
        self._ended = done | idle
        ended, finals = _NOBODY, _NOTHING
        if self._waits:
            begins = np.zeros(self.num_envs, bool)
        elif self.resets_in_same_step and done.any():
            self._ended = idle
            ended = np.flatnonzero(done)
            if self.mode == SAME_STEP:
                finals = _final_rows(info, ended)
            else:
                finals = {name: each[ended] for name, each in named(observation).items()}
                observation = self._reset_ended(done, observation)
        reward[begins] = 0.0  # no action earned it, whatever a wrapper made of it
        observation = _of_numpy(observation)
        return Arrival(observation, reward, terminated, truncated, begins, idle, ended, finals)

    def _reset_ended(self, mask: Flags, observation: Any) -> Any:
        """Reset the environments of `mask`; the observations from which to go on. If training is
        over, the next step raises TrainingOver, so that the result of this step is not lost.
        """
        try:
            return self._env.reset(options={"reset_mask": mask})[0]
        except TrainingOver as over:
            self._over = over
            return observation


def named(value: Any, name: str = "observation") -> dict[str, Array]:
    """The arrays of a value, whose entries are named by their path: `observation/joints/0`."""
    if not isinstance(value, Mapping | tuple):
        return {name: np.asarray(value)}
    return {path: np.asarray(leaf) for path, leaf in _leaves(value, name)}


def rebuilt(like: Any, arrays: Arrays, name: str = "observation") -> Any:
    """The arrays in the structure that `like` has: the inverse of `named`."""
    if isinstance(like, Mapping):
        return {key: rebuilt(like[key], arrays, f"{name}/{key}") for key in like}
    if isinstance(like, tuple):
        return tuple(rebuilt(each, arrays, f"{name}/{k}") for k, each in enumerate(like))
    return arrays[name]


_NOBODY = np.empty(0, np.intp)
_NOTHING: Arrays = {}


def _of_numpy(observation: Any) -> Any:
    return rebuilt(observation, named(observation))


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}/{key}")
    elif isinstance(value, tuple):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{name}/{place}")
    else:
        yield name, value


def _mode(env: Any) -> str:
    """The vector environment's autoreset mode. Raises NotAnEnvironment if it declares none."""
    declared = env.metadata.get("autoreset_mode")
    mode = getattr(declared, "value", declared)
    if mode not in {NEXT_STEP, SAME_STEP, DISABLED}:
        raise NotAnEnvironment(
            got=f"{declared!r} as metadata['autoreset_mode'] of {type(env).__name__}",
            wanted=(
                "one of gymnasium.vector.AutoresetMode, which says where an episode's last "
                "observation is"
            ),
        )
    return str(mode)


def _final_rows(info: Mapping[str, Any], ended: npt.NDArray[np.intp]) -> dict[str, Array]:
    """(K, …) of info["final_obs"]: one object for each environment, or a batch."""
    if "final_obs" not in info:
        raise EnvironmentFault(
            "an episode ended and info has no 'final_obs', wanted it in autoreset mode SAME_STEP: "
            "check that no wrapper removes it"
        )
    final = info["final_obs"]
    if isinstance(final, np.ndarray) and final.dtype == object:
        each = [named(final[env]) for env in ended]
        return {name: np.stack([one[name] for one in each]) for name in each[0]}
    return {name: batch[ended] for name, batch in named(final).items()}

"""Environments for Stable-Baselines3: all slots of a benchmark in one call.

from reglue.gymnasium.sb3_vec_env import VecEnv

model = PPO("MlpPolicy", VecEnv("MT10", num_envs=10))
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common import vec_env

from reglue.errors import BadArgument
from reglue.gymnasium.make import make_vec


class VecEnv(vec_env.VecEnv):  # type: ignore[misc] # SB3 is large, and mypy does not read it
    """`reglue.make_vec` as a VecEnv of Stable-Baselines3.

    Its infos have what SB3's Monitor says of an episode that ends (`episode`: return `r`, length
    `l` and seconds `t`), so that SB3 logs the mean return and length; `is_success`, where success
    is judged or the environment reports it; `terminal_observation` and `TimeLimit.truncated`.
    SB3's wrappers of vectors fit around it. `envs` is the GlueVectorEnv.
    """

    def __init__(self, where: object = None, num_envs: int | None = None, **options: Any) -> None:
        """Arguments as of `make_vec`, and its errors; a slot begins again where it ends."""
        if "autoreset_mode" in options:
            wanted = "none: SB3 wants the next observation at once"
            raise BadArgument(got="autoreset_mode", wanted=wanted)
        self.envs = make_vec(where, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._seed: int | None = None
        self._actions: Any = None
        self._began_s = time.monotonic()
        slots = self.envs.num_envs
        self._returns, self._lengths = np.zeros(slots), np.zeros(slots, np.int64)
        spaces = (self.envs.single_observation_space, self.envs.single_action_space)
        super().__init__(slots, *spaces)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Choose the training seed of the next reset; the same for all slots, which share it."""
        self._seed = seed
        return [seed] * self.num_envs

    def reset(self) -> Any:
        """Begin an episode in every slot."""
        seen, infos = self.envs.reset(seed=self._seed)
        self._seed = None
        self._returns[:], self._lengths[:] = 0.0, 0
        self.reset_infos = self._parted(infos)
        return seen

    def step_async(self, actions: Any) -> None:
        """Keep the actions, (slots, …)."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take the step: observations, rewards, ends, and an info for each slot."""
        seen, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        ended = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        parted = self._parted(infos)
        for slot in np.flatnonzero(ended).tolist():
            cut = bool(truncated[slot] and not terminated[slot])
            parted[slot] |= self._end(slot, parted[slot], truncated=cut)
        return seen, rewards.astype(np.float32), ended, parted

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the vector, for each of the slots."""
        return [getattr(self.envs, attr_name) for _ in self._slots(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: slots have no attributes of their own."""
        raise BadArgument(got=f"set_attr({attr_name!r})", wanted="arguments of VecEnv")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **more: Any
    ) -> list[Any]:
        """Refused: slots have no methods of their own."""
        raise BadArgument(got=f"env_method({method_name!r})", wanted="a method of `envs`")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Never: a slot is no environment of Gymnasium's."""
        return [False for _ in self._slots(indices)]

    def get_images(self) -> Sequence[Any]:
        """A picture of each slot."""
        return self.envs.render() or ()

    def _slots(self, indices: Any) -> Iterable[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else list(indices)

    def _end(self, slot: int, info: dict[str, Any], *, truncated: bool) -> dict[str, Any]:
        """The infos that SB3 reads at the end of an episode."""
        episode = {
            "r": round(float(self._returns[slot]), 6),
            "l": int(self._lengths[slot]),
            "t": round(time.monotonic() - self._began_s, 6),
        }
        self._returns[slot], self._lengths[slot] = 0.0, 0
        ends: dict[str, Any] = {"episode": episode, "TimeLimit.truncated": truncated}
        ends["terminal_observation"] = info.pop("final_obs")
        ends |= info.pop("final_info")
        if (succeeded := self.envs.succeeded(slot)) is not None:
            ends["is_success"] = succeeded
        return ends

    def _parted(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """Gymnasium's infos, an array for each key with a mask, as one dict for each slot."""
        parted: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for key, values in infos.items():
            if key.startswith("_"):
                continue
            for slot in np.flatnonzero(infos[f"_{key}"]).tolist():
                if isinstance(values, dict):  # one of dicts, as final_info
                    parted[slot][key] = {name: each[slot] for name, each in values.items()}
                else:
                    parted[slot][key] = values[slot]
        return parted

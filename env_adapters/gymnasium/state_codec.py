"""Reads and sets the state of an episode inside Gymnasium's own environments.

Source: gymnasium 1.3.0 and 1.4.0. Attributes that are only rendered (Pendulum's `last_u`, toy
text's `lastaction`), or that change only when an episode ends (CartPole's
`steps_beyond_terminated`), are left out. `gymnasium_world` saves the steps of a time limit and the
random generator.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from env_adapters.gymnasium_library import gymnasium, mujoco
from env_adapters.mujoco import IntegrationState
from reglue.errors import BadArgument, UsageError
from reglue.spec import Array, Arrays


class StateCodec(Protocol):
    """Saves and restores an unwrapped environment in mid-episode."""

    def read(self, env: Any) -> Arrays:
        """Copies of all that the rest of the episode depends on, by name."""

    def write(self, env: Any, inside: Arrays) -> None:
        """Set the arrays that `read` returned, in an environment in mid-episode.

        Raises UsageError, with nothing changed, for arrays that do not fit.
        """

    def identity(self, env: Any) -> Mapping[str, str]:
        """Properties on which its episodes depend, besides id, options and versions."""


def state_codec(env: Any) -> StateCodec | None:
    """The codec of `env`; None if the environment, or one of its wrappers, is unknown."""
    known = (gymnasium().wrappers.OrderEnforcing, gymnasium().wrappers.TimeLimit)
    while env is not env.unwrapped:
        if type(env) not in known and not getattr(type(env), "changes_nothing", False):
            return None
        env = env.env
    if hasattr(env, "get_inside"):
        return OwnCodec()
    name = f"{type(env).__module__}:{type(env).__qualname__}"
    return MuJoCoCodec() if _PHYSICS.fullmatch(name) else _ATTRIBUTES.get(name)


@dataclass(frozen=True, slots=True)
class Attributes:
    """Classic control and toy text: attributes of the environment that are numbers."""

    changing: tuple[str, ...]
    fixed: tuple[str, ...] = ()  # do not change with episodes; some options draw them

    def read(self, env: Any) -> Arrays:
        return {name: np.array(getattr(env, name)) for name in self.changing}

    def write(self, env: Any, inside: Arrays) -> None:
        _check_shapes(inside, self.read(env))
        for name, value in inside.items():
            setattr(env, name, value[()])

    def identity(self, env: Any) -> Mapping[str, str]:
        return {name: str(getattr(env, name).tolist()) for name in self.fixed}


@dataclass(frozen=True, slots=True)
class MuJoCoCodec:
    """MuJoCo's environments, versions 4 and 5.

    A step leaves the bodies' positions as they were before its last substep, and some rewards of
    the next step read them: Ant's and Reacher-v4's `xpos`, Humanoid's `xipos`. They cannot be
    computed from the integration state, so they are saved too. Steps read nothing else before
    `mj_step` has computed it; goals are in `qpos`.
    """

    def read(self, env: Any) -> Arrays:
        """MuJoCo's integration state (n,), and the positions of bodies, (bodies, 3) each."""
        return {
            "physics": IntegrationState(env).read(),
            "xpos": env.data.xpos.copy(),
            "xipos": env.data.xipos.copy(),
        }

    def write(self, env: Any, inside: Arrays) -> None:
        _check_shapes(inside, self.read(env))
        IntegrationState(env).write(inside["physics"])
        env.data.xpos[:] = inside["xpos"]
        env.data.xipos[:] = inside["xipos"]

    def identity(self, env: Any) -> Mapping[str, str]:
        """MuJoCo's version and the compiled model, which an option may name as a file."""
        mj = mujoco()
        model = np.zeros(mj.mj_sizeModel(env.model), np.uint8)
        mj.mj_saveModel(env.model, None, model)
        return {"mujoco": mj.__version__, "model": hashlib.sha256(model.tobytes()).hexdigest()}


@dataclass(frozen=True, slots=True)
class OwnCodec:
    """Environments with `get_inside` and `set_inside`."""

    def read(self, env: Any) -> Arrays:
        arrays: Arrays = env.get_inside()
        return arrays

    def write(self, env: Any, inside: Arrays) -> None:
        env.set_inside(inside)

    def identity(self, env: Any) -> Mapping[str, str]:
        return {}


def _check_shapes(inside: Arrays, current: Arrays) -> None:
    got, wanted = (
        {name: array.shape for name, array in arrays.items()} for arrays in (inside, current)
    )
    if got != wanted:
        raise BadArgument(got=f"a state of shapes {got}", wanted=wanted)


_PHYSICS = re.compile(r"gymnasium\.envs\.mujoco\.\w+_v[45]:\w+")

_ATTRIBUTES: Mapping[str, Attributes] = MappingProxyType(
    {
        f"gymnasium.envs.{name}": attributes
        for name, attributes in {
            "classic_control.acrobot:AcrobotEnv": Attributes(("state",)),
            "classic_control.cartpole:CartPoleEnv": Attributes(("state",)),
            "classic_control.continuous_mountain_car:Continuous_MountainCarEnv": Attributes(
                ("state",)
            ),
            "classic_control.mountain_car:MountainCarEnv": Attributes(("state",)),
            "classic_control.pendulum:PendulumEnv": Attributes(("state",)),
            "toy_text.cliffwalking:CliffWalkingEnv": Attributes(("s",)),
            "toy_text.frozen_lake:FrozenLakeEnv": Attributes(("s",), fixed=("desc",)),
            "toy_text.taxi:TaxiEnv": Attributes(("s", "fickle_step")),
        }.items()
    }
)


_COUNTER, _KEY, _BUFFER = slice(0, 4), slice(4, 6), slice(6, 10)
_WORDS = 13
_MOST = (4, 1, 2**32 - 1)  # of the last three


def philox_words(generator: np.random.Generator) -> Array:
    """(13,) uint64: counter, key, the block in use, words drawn of it, and the half of a
    word that is left over: whether there is one, and which.

    Raises UsageError for another generator than Philox.
    """
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "Philox":
        raise UsageError(
            got=f"an episode that Gymnasium seeded ({state['bit_generator']})",
            wanted="one that draws from reglue.Rng: only these have a state to save",
        )
    inner, last = state["state"], ("buffer_pos", "has_uint32", "uinteger")
    parts = (inner["counter"], inner["key"], state["buffer"], [state[name] for name in last])
    return np.concatenate([np.asarray(part, np.uint64) for part in parts])


def philox_generator(words: Array) -> np.random.Generator:
    """The generator with this state. Raises UsageError if no generator can have it."""
    last = words[10:].tolist()
    fits = words.shape == (_WORDS,) and words.dtype == np.uint64
    if not fits or any(word > most for word, most in zip(last, _MOST, strict=True)):
        raise BadArgument(got=words.tolist(), wanted=f"the {_WORDS} words of a Philox generator")
    bits = np.random.Philox(key=0)
    bits.state = {
        "bit_generator": "Philox",
        "state": {"counter": words[_COUNTER], "key": words[_KEY]},
        "buffer": words[_BUFFER],
        "buffer_pos": last[0],
        "has_uint32": last[1],
        "uinteger": last[2],
    }
    return np.random.Generator(bits)

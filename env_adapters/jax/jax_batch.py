"""Plays an environment written in JAX: reset and step are functions of a key and a state.

It takes the signatures of gymnax (`reset(key, params)`, `step(key, state, action, params)`, the
params being optional) and of Brax (`reset(rng)`, `step(state, action)`). A state is a pytree of
arrays, so that slots that are not named keep theirs: exact. A slot's keys follow from its cell
alone. It runs on the device that JAX prefers. Source: gymnax 1.0.1, Brax 0.14, JAX 0.10.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from env_adapters.jax.jax_program import JaxProgram
from reglue.environments.environment import Earned, Environment
from reglue.error_message import brief
from reglue.errors import MissingExtra, NotAnEnvironment
from reglue.messages.environment_messages import Cell, Slots, index_of
from reglue.rng import Rng
from reglue.spec import Array, Arrays, Box, Discrete, TaskSpec, TensorSpec

_OBSERVATION, _ACTION = "observation", "action"
_FEW = 8  # episodes that begin by a compiled function of their own: compiling costs most


def jax_batch_of(candidate: object, arguments: Mapping[str, Any]) -> JaxBatch | None:
    """The environment that plays an object or class with such a step; None for anything else.

    `(environment, params)`, as `gymnax.make` returns them, is one too. Raises MissingExtra without
    the package jax.
    """
    params: Any = None
    if isinstance(candidate, tuple) and len(candidate) == 2:
        candidate, params = candidate
    words = _words(getattr(candidate, "step", None), skip_self=isinstance(candidate, type))
    if "state" not in words[:2] or words[words.index("state") + 1 :][:1] != ["action"]:
        return None
    environment: Any = candidate(**arguments) if isinstance(candidate, type) else candidate
    return JaxBatch(environment, params)


class JaxBatch(Environment):
    """All slots in one compiled call."""

    tells_success = False
    whole_turns = False
    separate_slots = True  # to compile it for a check takes seconds

    def __init__(self, environment: Any, params: Any = None) -> None:
        """`params` are those of gymnax's signature, by default its `default_params`."""
        try:
            self._jax: Any = import_module("jax")
        except ImportError as error:
            raise MissingExtra("an environment in JAX", "jax", "the package jax") from error
        self._environment = environment
        self._params = (
            params if params is not None else getattr(environment, "default_params", None)
        )
        self._is_brax = _words(environment.step)[:1] == ["state"]
        self._turn = JaxProgram(self._jax, self._played)
        self._start = JaxProgram(self._jax, self._begun)

    @property
    def variants(self) -> Mapping[str, int]:
        """One task, called by the environment's `name` or class."""
        name = getattr(self._environment, "name", None)
        return {name if isinstance(name, str) else type(self._environment).__name__: 1}

    def env_init(self, slots: int) -> TaskSpec:
        """Reset all slots, which have no episode then."""
        words = np.zeros((slots, 2), np.uint32)
        full = self._jax.lax.full  # of keys, too
        nothing = self._jax.tree.map(
            lambda one: full((slots, *one.shape), 0, one.dtype), self._of_a_slot
        )
        observation, self._carry = self._start(
            (slots, slots), nothing, np.arange(slots, dtype=np.int32), words
        )
        self._all = np.ones(slots, np.bool_)
        self._actions = _tensor(_ACTION, self._space("action_space"))
        self._observations = TensorSpec(
            _OBSERVATION, str(observation.dtype), tuple(observation.shape[1:])
        )
        self._next = self._actions.empty(slots)
        if self._actions.limits is not None:
            np.clip(self._next, *self._actions.limits, out=self._next)
        steps = getattr(self._params, "max_steps_in_episode", 0)
        return TaskSpec((self._observations,), (self._actions,), horizon=int(steps or 0))

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        """Put what a reset by the cell's key gives into the slots."""
        keys = [Rng(cell.seed, cell.repeat).below(2**63) for cell in cells.values()]
        words = np.array([[key >> 32, key & 0xFFFFFFFF] for key in keys], np.uint32)
        slots = np.array([*cells], np.int32)
        size = _FEW if len(cells) <= _FEW < len(self._all) else len(self._all)
        more = size - len(cells)
        # The last one again: the same numbers in the same place.
        padded = np.concatenate([slots, np.repeat(slots[-1:], more)])
        words = np.concatenate([words, np.repeat(words[-1:], more, axis=0)])
        sizes = (len(self._all), size)
        observation, self._carry = self._start(sizes, self._carry, padded, words)
        return {_OBSERVATION: np.asarray(observation)[: len(cells)]}

    def env_step(self, actions: Arrays, slots: Slots) -> Earned:
        """Step all slots, and keep the state of those that are not named."""
        at = index_of(slots, len(self._all))
        self._next[at] = actions[_ACTION]
        steps = self._all
        if len(slots) < len(steps):
            steps = np.zeros(len(steps), np.bool_)
            steps[at] = True
        self._carry, answer = self._turn((len(steps),), self._carry, self._next, steps)
        observation, rewards, terminated, truncated = map(np.asarray, answer)
        if not isinstance(at, slice):
            observation = observation.take(at, 0)  # quicker than an index
        return Earned(rewards[at], {_OBSERVATION: observation}, terminated[at], truncated[at])

    @cached_property
    def _of_a_slot(self) -> Any:
        """The shapes and dtypes of a slot's state."""
        return self._jax.eval_shape(self._reset, np.zeros(2, np.uint32))[1]

    # What is compiled.

    def _played(self, carry: Any, actions: Any, steps: Any) -> Any:
        jnp = self._jax.numpy
        moved, answer = self._jax.vmap(self._step)(carry, actions)

        def kept(new: Any, old: Any) -> Any:
            return jnp.where(steps.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        return self._jax.tree.map(kept, moved, carry), answer

    def _begun(self, carry: Any, slots: Any, keys: Any) -> Any:
        observation, begun = self._jax.vmap(self._reset)(keys)
        return observation, self._jax.tree.map(
            lambda old, new: old.at[slots].set(new), carry, begun
        )

    def _reset(self, key: Any) -> Any:
        """One slot's first observation, and its (key, number of steps, state)."""
        key, drawn = self._jax.random.split(key)
        steps = self._jax.numpy.uint32(0)
        if self._is_brax:
            state = self._environment.reset(drawn)
            return self._seen(state.obs), (key, steps, state)
        reset = getattr(self._environment, "reset_env", self._environment.reset)
        observation, state = reset(drawn, *self._more(reset, 1))
        return self._seen(observation), (key, steps, state)

    def _step(self, carry: Any, action: Any) -> Any:
        """One slot's next (key, number of steps, state), and what it earned. gymnax's `step` would
        reset by itself; its `step_env` does not.

        A step's key is made of the episode's and the step's number, not of the key before: where an
        environment draws nothing in its steps, the compiler leaves the keys out.
        """
        key, steps, state = carry
        jnp = self._jax.numpy
        if self._is_brax:
            state = self._environment.step(state, action)
            cut = jnp.asarray(state.info.get("truncation", 0)).astype(bool)
            over = state.done.astype(bool)
            answer = (self._seen(state.obs), state.reward, over & ~cut, over & cut)
            return (key, steps, state), answer
        drawn = self._jax.random.fold_in(key, steps)
        step = getattr(self._environment, "step_env", self._environment.step)
        more = self._more(step, 3)
        observation, state, reward, done, _ = step(drawn, state, action, *more)
        over, cut = jnp.asarray(done).astype(bool), jnp.asarray(False)
        most = getattr(self._params, "max_steps_in_episode", None)
        if most is not None and hasattr(state, "time"):
            cut = state.time >= most
        # gymnax's step_env does not always tell of its time limit.
        return (key, steps + 1, state), (self._seen(observation), reward, over & ~cut, cut)

    def _more(self, function: Callable[..., Any], count: int) -> tuple[Any, ...]:
        """The params, where it takes them."""
        return (self._params,) if len(_words(function)) > count else ()

    def _seen(self, observation: Any) -> Any:
        if not hasattr(observation, "dtype"):
            raise NotAnEnvironment("an observation", got=brief(observation), wanted="one array")
        return observation

    def _space(self, name: str) -> Any:
        if self._is_brax and not hasattr(self._environment, name):
            return _Bounded(int(self._environment.action_size))
        space = getattr(self._environment, name, None)
        if callable(space) and not hasattr(space, "shape"):
            space = space(*self._more(space, 0))
        if space is None:
            got = f"{type(self._environment).__name__} without {name}"
            raise NotAnEnvironment(got=got, wanted=f"{name}, with n, or with low, high and shape")
        return space


class _Bounded:
    """The actions of Brax."""

    low, high, dtype = -1.0, 1.0, np.dtype(np.float32)

    def __init__(self, size: int) -> None:
        self.shape = (size,)


def _tensor(name: str, space: Any) -> TensorSpec:
    """The tensor of a space of gymnax's or Gymnasium's: `n`, or `low` and `high`."""
    shape = tuple(space.shape)
    if hasattr(space, "n"):
        return TensorSpec(
            name, "int32", shape, Discrete(int(space.n), int(getattr(space, "start", 0)))
        )
    dtype = np.dtype(space.dtype)
    low, high = _bound(space.low, shape, -np.inf), _bound(space.high, shape, np.inf)
    return TensorSpec(name, str(dtype), shape, Box(low, high))


def _bound(value: Any, shape: tuple[int, ...], none: float) -> tuple[float, ...]:
    flat: Array = np.broadcast_to(np.asarray(value, float), shape).ravel()
    return () if (flat == none).all() else tuple(flat.tolist())


def _words(function: Any, *, skip_self: bool = False) -> list[str]:
    """The names of a function's parameters."""
    if not callable(function):
        return []
    try:
        return [*inspect.signature(function).parameters][int(skip_self) :]
    except (TypeError, ValueError):
        return []

"""Plays a `gymnasium.vector.VectorEnv` as the environment: one call steps all slots.

Its episodes are exact, the rows of single environments, in two cases: it resets slots singly
(`autoreset_mode=DISABLED` and `reset(options={"reset_mask": …})`, Gymnasium 1.3 and later), or its
class is one whose state can be put back (`_STATES`). One that resets by itself in the same step
(SAME_STEP) draws its own seeds, and is not repeatable; neither is EnvPool's, which is seeded when
it is made. Source: gymnasium 1.3.0 and 1.4.0, EnvPool 1.2.5.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from env_adapters.gymnasium.gymnasium_suite import vector_class
from env_adapters.gymnasium.gymnasium_world import reset_seed
from env_adapters.gymnasium.space_tensors import Tensors
from env_adapters.gymnasium.task_spec import UNKNOWN
from reglue.action_masks import action_mask
from reglue.environments.environment import Earned, Environment
from reglue.error_message import brief
from reglue.errors import NotAnEnvironment, OutOfOrder, UsageError
from reglue.messages.environment_messages import Cell, SlotIndex, Slots, index_of
from reglue.spec import Array, Arrays, TaskSpec
from reglue.texts import Text

Make = Callable[[int], Any]
"""Makes a VectorEnv of so many slots."""

_CART_POLE = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"

_STATES: Mapping[str, Mapping[str, int]] = {_CART_POLE: {"state": 1, "steps": 0, "prev_done": 0}}
"""The attributes that are a class's whole state, and the axis of their slots."""

_DONE = {_CART_POLE: "prev_done"}
"""Flags of slots that would reset by themselves in the next step."""


def batch_of(candidate: object, arguments: Mapping[str, Any], made_by: object) -> Batch | None:
    """The environment that plays a `VectorEnv`, a class or an object; None for anything else.

    A class, made with `arguments` and `num_envs`, plays in any number of slots; so does an object
    that the function `made_by` has made, if it takes `num_envs`. Any other object plays in its own
    number, and stays open.

    Raises NotAnEnvironment for one that resets slots when nobody can know the next actions.
    """
    kind = vector_class()
    if isinstance(candidate, type) and issubclass(candidate, kind):
        made: Any = candidate

        def make(slots: int) -> Any:
            return made(num_envs=slots, **arguments)

        return _batch(make(1), make)
    if not isinstance(candidate, kind):
        return None
    if callable(made_by) and "num_envs" in inspect.signature(made_by).parameters:
        again: Any = made_by
        rest = {name: value for name, value in arguments.items() if name != "num_envs"}
        return _batch(candidate, lambda slots: again(**rest, num_envs=slots))
    return _batch(candidate, None)


class Batch(Environment):
    """The common part of all batches; a subclass begins episodes and handles idle slots."""

    def __init__(self, env: Any, make: Make | None) -> None:
        """`make` makes another one of another size; None: `env` is the only one."""
        self._env, self._make = env, make
        self._is_fresh = True  # nothing was played in it
        self.max_slots = 0 if make else int(env.num_envs)
        self.tells_success = bool(getattr(env.unwrapped, "tells_success", False))
        self.reports_success = self.tells_success
        self._observations = Tensors("observation", env.single_observation_space)
        self._actions = Tensors("action", env.single_action_space)
        specs = (*self._observations.specs, *self._actions.specs)
        if texts := [each.name for each in specs if isinstance(each, Text)]:
            raise UsageError(got=f"texts {texts} in a batch", wanted="arrays of numbers")
        self._name = _name(env)

    @property
    def variants(self) -> Mapping[str, int]:
        """One task, called by the id or the class."""
        return {self._name: 1}

    def env_init(self, slots: int) -> TaskSpec:
        """Make as many slots, or reset the only batch that there is."""
        if self._make is not None and not (self._is_fresh and self._env.num_envs == slots):
            self._env.close()
            self._env = self._make(slots)
            if self._env.num_envs != slots:
                got = f"a batch of {self._env.num_envs} slots for num_envs={slots}"
                raise NotAnEnvironment(got=got, wanted=f"{slots}")
        self._is_fresh = False
        count = self._env.num_envs
        self._over = np.zeros(count, np.bool_)  # the episode ended, and nothing began since
        self._next = {each.name: each.empty(count) for each in self._actions.specs}
        for each in self._actions.specs:  # what idle slots play must be legal
            if each.limits is not None:
                np.clip(self._next[each.name], *each.limits, out=self._next[each.name])
        horizon = getattr(self._env.unwrapped.spec, "max_episode_steps", None)
        spec = TaskSpec(
            observations=self._observations.specs,
            actions=self._actions.specs,
            reward_range=getattr(self._env.unwrapped, "reward_range", UNKNOWN),
            horizon=int(horizon or 0),
        )
        self._mask = action_mask(spec)
        self._begin()
        return spec

    def env_step(self, actions: Arrays, slots: Slots) -> Earned:
        """Step the batch; slots that are not named play an arbitrary action."""
        at = index_of(slots, len(self._over))
        for name, rows in self._next.items():
            rows[at] = actions[name]
        observation, rewards, terminated, truncated, info = self._step(at)
        if "final_obs" in info:
            raise NotAnEnvironment(
                got=f"{self._name}, which has reset a slot by itself (final_obs)",
                wanted="none: it says autoreset_mode=DISABLED",
            )
        over = self._flags("terminated", terminated) | self._flags("truncated", truncated)
        self._over |= over  # idle slots end, too
        success = self._success(info)[at] if self.tells_success else False
        return Earned(
            _column("rewards", rewards, self._over)[at],
            self._rows(observation, at),
            terminated[at],
            truncated[at],
            success,
        )

    def env_cleanup(self) -> None:
        """Close what was made here."""
        if self._make is not None:
            self._env.close()
            self._is_fresh = False

    def _begin(self) -> None:
        """Make a new or used batch ready; no slot has an episode."""
        observation, _ = self._env.reset(seed=0)
        self._keep_mask(observation)

    def _step(self, at: SlotIndex) -> Any:
        """The batch's step, of which only rows `at` count."""
        if self._mask is not None:
            idle = np.ones(len(self._over), np.bool_)
            idle[at] = False
            legal = self._mask.first(self._allowed)
            self._next[self._mask.action.name][idle] = legal[idle]
        return self._env.step(self._actions.batch(self._next))

    def _rows(self, observation: Any, at: SlotIndex) -> dict[str, Array]:
        """Rows of a batch of observations, checked: it may change its shape or dtype.

        May be the batch's own arrays: the caller copies them.
        """
        rows = {}
        for tensor, values in zip(
            self._observations.specs, self._observations.parts(observation), strict=True
        ):
            shape, dtype = (len(self._over), *tensor.shape), tensor.numpy_dtype
            if getattr(values, "shape", None) != shape or values.dtype != dtype:
                got = f"{getattr(values, 'dtype', brief(values))} of shape {np.shape(values)}"
                raise NotAnEnvironment(tensor.name, got=got, wanted=f"{dtype} of shape {shape}")
            # As rows of some slots are; `take` is quicker than an index.
            some = values if isinstance(at, slice) else values.take(at, 0)
            rows[tensor.name] = np.ascontiguousarray(some)
        self._keep_mask(observation)
        return rows

    def _keep_mask(self, observation: Any) -> None:
        """Remember what each slot of the batch may play."""
        if self._mask is not None:
            names = [each.name for each in self._observations.specs]
            parts = dict(zip(names, self._observations.parts(observation), strict=True))
            self._allowed = self._mask.allowed(parts)

    def _flags(self, name: str, values: Any) -> Array:
        flags = _column(name, values, self._over)
        if flags.dtype != np.bool_:
            raise NotAnEnvironment(name, got=f"dtype {flags.dtype}", wanted="bool")
        return flags

    def _success(self, info: Mapping[str, Any]) -> Array:
        for name in ("is_success", "success"):
            if name in info:
                return np.asarray(info[name], np.bool_)
        return np.zeros(len(self._over), np.bool_)


class MaskedBatch(Batch):
    """A batch that resets the slots of a mask, each with its own seed."""

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        """Reset these slots."""
        return self._reset({slot: reset_seed(cell) for slot, cell in cells.items()})

    def _reset(self, seeds: Mapping[int, int]) -> dict[str, Array]:
        at = np.array([*seeds], np.intp)
        mask = np.zeros(len(self._over), np.bool_)
        mask[at] = True
        every = [seeds.get(slot) for slot in range(len(mask))]
        observation, _ = self._env.reset(seed=every, options={"reset_mask": mask})
        self._over[at] = False
        return self._rows(observation, at)

    def _step(self, at: SlotIndex) -> Any:
        idle = self._over.copy()
        idle[at] = False
        if np.count_nonzero(idle):  # what is over cannot be stepped
            self._reset(dict.fromkeys(idle.nonzero()[0].tolist(), 0))
        return super()._step(at)


class StateBatch(Batch):
    """A batch whose state can be put back: slots that are not named stay where they are."""

    whole_turns = False

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        """Put the state that a batch of one slot begins with into each of these."""
        one = copy.copy(self._env)  # its reset replaces its arrays, and leaves the batch's
        one.num_envs = 1
        seen: list[Any] = []
        states: dict[str, list[Array]] = {name: [] for name in self._state}
        for cell in cells.values():
            observation, _ = one.reset(seed=reset_seed(cell))
            seen.append(observation)
            for name, parts in states.items():
                parts.append(getattr(one, name))
        at = np.array([*cells], np.intp)
        for name, axis in self._state.items():
            every = (slice(None),) * axis
            getattr(self._env, name)[(*every, at)] = np.concatenate(states[name], axis)
        self._over[at] = False
        names = [each.name for each in self._observations.specs]
        rows = [self._observations.parts(each) for each in seen]
        return dict(zip(names, map(np.concatenate, zip(*rows, strict=True)), strict=True))

    def _step(self, at: SlotIndex) -> Any:
        kept = {}
        if not isinstance(at, slice) and len(at) < len(self._over):
            others = np.ones(len(self._over), np.bool_)
            others[at] = False
            kept = {name: getattr(self._env, name).copy() for name in self._state}
        try:
            return super()._step(at)
        finally:  # a step that fails has moved all slots, too
            for name, values in kept.items():
                index = (*(slice(None),) * self._state[name], others)
                getattr(self._env, name)[index] = values[index]
            getattr(self._env, _DONE[_class_name(self._env)])[:] = False  # or it resets by itself

    @property
    def _state(self) -> Mapping[str, int]:
        return _STATES[_class_name(self._env)]


class SameStepBatch(Batch):
    """A batch that begins a slot's next episode in the step that ends the last, by its own seed."""

    repeatable = False

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        """Observations of the slots whose episodes have begun by themselves."""
        at = np.array([*cells], np.intp)
        if not self._has_begun[at].all():
            raise OutOfOrder(
                got=f"a start in mid-episode of slots {at[~self._has_begun[at]].tolist()}",
                wanted="the episode's end first: this batch resets by itself alone",
            )
        self._over[at] = False
        return self._rows(self._seen, at)

    def env_step(self, actions: Arrays, slots: Slots) -> Earned:
        """Step; the last observation of an episode is in `info`."""
        earned = super().env_step(actions, slots)
        if self._final is None:
            return earned
        seen = {name: np.array(rows) for name, rows in earned.observations.items()}
        for row, slot in enumerate(slots.tolist()):
            if self._has_begun[slot]:
                last = self._observations.parts(self._final[slot])
                for tensor, values in zip(self._observations.specs, last, strict=True):
                    seen[tensor.name][row] = values
        return replace(earned, observations=seen)

    def _begin(self) -> None:
        self._seen, _ = self._env.reset(seed=0)
        self._keep_mask(self._seen)
        self._has_begun = np.ones(len(self._over), np.bool_)
        self._final: Any = None

    def _step(self, at: SlotIndex) -> Any:
        seen, rewards, terminated, truncated, info = super()._step(at)
        self._seen = seen
        self._has_begun = np.asarray(terminated) | np.asarray(truncated)
        rest = dict(info)
        self._final = rest.pop("final_obs", None)
        return seen, rewards, terminated, truncated, rest


class PoolBatch(Batch):
    """EnvPool's: it resets and steps the slots of ids, and answers in any order.

    Its seeds are those that it was made with, so that cells do not decide its episodes.
    """

    whole_turns = False
    repeatable = False

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        """Reset these slots."""
        ids = np.array([*cells], np.int32)
        observation, info = self._env.reset(ids)
        return self._named(observation, self._places(info, ids))

    def env_step(self, actions: Arrays, slots: Slots) -> Earned:
        """Step these slots."""
        ids = slots.astype(np.int32)
        observation, *earned, info = self._env.step(self._actions.batch(actions), ids)
        places = self._places(info, ids)
        names = ("rewards", "terminated", "truncated")
        columns = (_column(*pair, ids)[places] for pair in zip(names, earned, strict=True))
        rewards, terminated, truncated = columns
        return Earned(rewards, self._named(observation, places), terminated, truncated)

    def _begin(self) -> None:
        """Do nothing: an episode begins where `env_start` puts it."""

    def _named(self, observation: Any, places: Array) -> dict[str, Array]:
        parts = self._observations.parts(observation)
        tensors = self._observations.specs
        return {each.name: part[places] for each, part in zip(tensors, parts, strict=True)}

    def _places(self, info: Mapping[str, Any], ids: Array) -> Array:
        """The rows of `ids` in an answer."""
        answered = np.asarray(info["env_id"])
        if not np.array_equal(np.sort(answered), np.sort(ids)):
            got, wanted = (f"rows of slots {sorted(each.tolist())}" for each in (answered, ids))
            raise NotAnEnvironment(self._name, got=got, wanted=wanted)
        by_id = answered.argsort()
        places: Array = by_id[answered[by_id].searchsorted(ids)]
        return places


def _batch(env: Any, make: Make | None) -> Batch:
    """The kind that suits what it can do."""
    if any(each.__name__ == "EnvPoolMixin" for each in type(env).__mro__):
        return PoolBatch(env, make)
    if _class_name(env) in _STATES:
        return StateBatch(env, make)
    mode = getattr(env.metadata.get("autoreset_mode"), "name", "none")
    if mode == "DISABLED":
        return MaskedBatch(env, make)
    if mode == "SAME_STEP":
        return SameStepBatch(env, make)
    raise NotAnEnvironment(
        got=f"{_name(env)}, whose autoreset_mode is {mode}: it begins an episode while the others "
        "step, and their actions are not known then",
        wanted="autoreset_mode=AutoresetMode.DISABLED, with reset(options={'reset_mask': …}), or "
        "SAME_STEP",
    )


def _column(name: str, values: Any, like: Array) -> Array:
    if getattr(values, "shape", None) != like.shape:
        got = f"{type(values).__name__} of shape {np.shape(values)}"
        raise NotAnEnvironment(name, got=got, wanted=f"ndarray of shape {like.shape}")
    column: Array = values
    return column


def _class_name(env: Any) -> str:
    return f"{type(env).__module__}:{type(env).__qualname__}"


def _name(env: Any) -> str:
    made_by = getattr(getattr(env, "spec", None), "id", None)  # EnvPool's spec has none
    return made_by if isinstance(made_by, str) else type(env.unwrapped).__name__

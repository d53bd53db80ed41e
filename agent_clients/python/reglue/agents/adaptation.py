"""Accepts agents: an Agent, a function of a batch, or another library's object."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, Chosen, Policy, check_agent
from reglue.agents.metaworld import MetaWorldAgent
from reglue.errors import CannotLoad, NotAnAgent
from reglue.messages.agent_messages import Turn
from reglue.spec import Array, Discrete, TaskSpec

_PREDICTS = ("observation", "state", "episode_start", "deterministic")
"""The parameters of `predict` by which a model of Stable-Baselines3 is known."""


def agent_of(candidate: object) -> Agent:
    """The `reglue.Agent` that plays `candidate`.

    Args:
        candidate: an Agent; a function of a batch of observations, as Policy takes; a model or
            policy of Stable-Baselines3, which plays deterministically; its method `predict`, which
            samples; or an object with Meta-World's `eval_action` and `reset`.

    Raises NotAnAgent, which says what is missing.
    """
    if isinstance(candidate, Agent):
        check_agent(candidate)
        return candidate
    if isinstance(candidate, type):
        raise NotAnAgent(got=f"the class {candidate.__name__}", wanted="an object of it")
    if callable(getattr(candidate, "eval_action", None)):
        if not callable(getattr(candidate, "reset", None)):
            name = type(candidate).__name__
            raise NotAnAgent(f"{name} lacks reset(); Meta-World's agents have it, if only empty")
        return MetaWorldAgent(candidate)
    if is_model(candidate):
        return ModelAgent(candidate)
    model = getattr(candidate, "__self__", None)
    if is_model(model) and candidate == model.predict:  # type: ignore[union-attr]
        return ModelAgent(model, deterministic=False)
    if callable(candidate):
        return Policy(candidate)
    raise NotAnAgent(
        f"{type(candidate).__name__} is no agent: derive it from reglue.Agent, or give a function "
        "of a batch of observations, a model with Stable-Baselines3's predict(), or an object with "
        "Meta-World's eval_action() and reset()"
    )


def is_model(candidate: object) -> bool:
    """Whether it has the `predict` of Stable-Baselines3's models and policies."""
    predict = getattr(candidate, "predict", None)
    if not callable(predict):
        return False
    try:
        return set(_PREDICTS) <= inspect.signature(predict).parameters.keys()
    except (TypeError, ValueError):
        return False


class ModelAgent(Agent):
    """Plays a model of Stable-Baselines3, or one like it, which keeps a state for each slot if it
    is recurrent.

    It sees observations as the VecNormalize around its training's environments makes them, whose
    statistics do not change.

    Args:
        model: has `predict(observation, state, episode_start, deterministic)`, which returns
            actions and the next state, None or a tuple of arrays. It is not seeded, and does not
            learn.
        deterministic: whether it plays its most likely action, as `evaluate_policy` does.
        vec_normalize: the file that `VecNormalize.save` wrote, for a saved model, which comes
            without its statistics. The file is unpickled, and so runs whatever it holds.

    Raises CannotLoad if there is no such file.
    """

    def __init__(
        self,
        model: Any,
        *,
        deterministic: bool = True,
        vec_normalize: str | Path | None = None,
    ) -> None:
        self.model = model
        self.deterministic = deterministic
        self._kept = None if vec_normalize is None else _statistics(Path(vec_normalize), model)

    def check_task(self, spec: TaskSpec) -> None:
        """Raise NotAnAgent if the model was made for observations or actions of other sizes."""
        _check_observations(getattr(self.model, "observation_space", None), spec)
        _check_actions(getattr(self.model, "action_space", None), spec)

    def agent_init(self, spec: TaskSpec) -> None:
        """Forget the states of all episodes."""
        self._slots = spec.slots
        self._states: tuple[Array, ...] | None = None
        self._axis = 0

    def turn(self, turn: Turn) -> Chosen:
        """`predict` for all episodes that continue or begin."""
        slots = np.concatenate([turn.steps.slots, turn.starts.slots])
        if not len(slots):
            return {}
        seen = {name: rows[len(turn.ends) :] for name, rows in turn.observations.items()}
        starts = np.arange(len(slots)) >= len(turn.steps)
        observation = next(iter(seen.values())) if len(seen) == 1 else seen
        actions, states = self.model.predict(
            self._normalized(observation),
            state=self._of(slots),
            episode_start=starts,
            deterministic=self.deterministic,
        )
        self._keep(slots, states)
        chosen: Chosen = actions
        return chosen

    def _normalized(self, observation: Any) -> Any:
        find = getattr(self.model, "get_vec_normalize_env", None)
        statistics = self._kept or (find() if find else None)
        return statistics.normalize_obs(observation) if statistics else observation

    def _of(self, slots: npt.NDArray[np.uint32]) -> tuple[Array, ...] | None:
        """The states of some slots; None before the first answer, and of models without."""
        if self._states is None:
            return None
        return tuple(state.take(slots, self._axis) for state in self._states)

    def _keep(self, slots: npt.NDArray[np.uint32], states: tuple[Array, ...] | None) -> None:
        if states is None:
            return
        if self._states is None:
            # sb3-contrib's are (layers, rows, units), others' (rows, …).
            self._axis = 1 if states[0].ndim == 3 else 0
            self._states = tuple(
                np.zeros(_with_rows(state.shape, self._axis, self._slots), state.dtype)
                for state in states
            )
        for stored, state in zip(self._states, states, strict=True):
            np.moveaxis(stored, self._axis, 0)[slots] = np.moveaxis(state, self._axis, 0)


def _check_observations(space: Any, spec: TaskSpec) -> None:
    """Orders of axes may differ, as of pictures; sizes may not."""
    tensors = {tensor.name: tensor for tensor in spec.observations}
    wanted = getattr(space, "spaces", None)
    if isinstance(wanted, Mapping):
        if missing := wanted.keys() - tensors.keys():
            raise NotAnAgent(
                "observation",
                got=f"a model that sees {sorted(missing)}",
                wanted=f"one that sees {sorted(tensors)}",
            )
        pairs = [(wanted[name], tensor) for name, tensor in tensors.items() if name in wanted]
    elif len(tensors) == 1:
        pairs = [(space, spec.observations[0])]
    else:
        pairs = []
    for of_model, tensor in pairs:
        shape = getattr(of_model, "shape", None)
        if shape is not None and math.prod(shape) != math.prod(tensor.shape):
            raise NotAnAgent(tensor.name, got=f"a model of shape {shape}", wanted=tensor.shape)


def _check_actions(space: Any, spec: TaskSpec) -> None:
    shape = getattr(space, "shape", None)
    if shape is None or len(spec.actions) != 1:
        return
    action = spec.actions[0]
    if math.prod(shape) != math.prod(action.shape):
        raise NotAnAgent(action.name, got=f"a model of shape {shape}", wanted=action.shape)
    count, domain = getattr(space, "n", None), action.domain
    if isinstance(domain, Discrete) and isinstance(count, (int, np.integer)) and count > domain.n:
        raise NotAnAgent(action.name, got=f"a model of {count} actions", wanted=domain.n)


def _statistics(path: Path, model: Any) -> Any:
    """The VecNormalize in a file, around nothing but the model's spaces."""
    import gymnasium
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    if not path.is_file():
        raise CannotLoad(got=f"vec_normalize={path}", wanted="a file that VecNormalize.save wrote")
    spaces: gymnasium.Env[Any, Any] = gymnasium.Env()
    spaces.observation_space, spaces.action_space = model.observation_space, model.action_space
    return VecNormalize.load(str(path), DummyVecEnv([lambda: spaces]))


def _with_rows(shape: tuple[int, ...], axis: int, rows: int) -> tuple[int, ...]:
    return (*shape[:axis], rows, *shape[axis + 1 :])

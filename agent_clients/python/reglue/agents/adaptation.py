"""Accepts agents: an Agent, a function of a batch, or another library's object."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, Chosen, Policy, check_agent
from reglue.agents.metaworld import MetaWorldAgent
from reglue.errors import NotAnAgent
from reglue.messages.agent import Turn
from reglue.spec import Array, TaskSpec

_PREDICTS = ("observation", "state", "episode_start", "deterministic")
"""The parameters of `predict` by which a model of Stable-Baselines3 is known."""


def agent_of(candidate: object) -> Agent:
    """The `reglue.Agent` that plays `candidate`.

    Args:
        candidate: an Agent; a function of a batch of observations, as Policy takes; a model or
            policy of Stable-Baselines3, which plays deterministically; or an object with
            Meta-World's `eval_action` and `reset`.

    Raises NotAnAgent, which says what is missing.
    """
    if isinstance(candidate, Agent):
        check_agent(candidate)
        return candidate
    if isinstance(candidate, type):
        raise NotAnAgent(f"got the class {candidate.__name__}, wanted an object of it")
    if callable(getattr(candidate, "eval_action", None)):
        if not callable(getattr(candidate, "reset", None)):
            name = type(candidate).__name__
            raise NotAnAgent(f"{name} lacks reset(); Meta-World's agents have it, if only empty")
        return MetaWorldAgent(candidate)
    if is_model(candidate):
        return ModelAgent(candidate)
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

    Args:
        model: has `predict(observation, state, episode_start, deterministic)`, which returns
            actions and the next state, None or a tuple of arrays. It is not seeded, and does not
            learn.
        deterministic: whether it plays its most likely action, as `evaluate_policy` does.
    """

    def __init__(self, model: Any, *, deterministic: bool = True) -> None:
        self.model = model
        self.deterministic = deterministic

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
            observation,
            state=self._of(slots),
            episode_start=starts,
            deterministic=self.deterministic,
        )
        self._keep(slots, states)
        chosen: Chosen = actions
        return chosen

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
        for kept, state in zip(self._states, states, strict=True):
            np.moveaxis(kept, self._axis, 0)[slots] = np.moveaxis(state, self._axis, 0)


def _with_rows(shape: tuple[int, ...], axis: int, rows: int) -> tuple[int, ...]:
    return (*shape[:axis], rows, *shape[axis + 1 :])

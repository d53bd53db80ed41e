"""Plays a model of Stable-Baselines3, or one like it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, Chosen
from reglue.agents.model_spaces import check_model_spaces
from reglue.errors import CannotLoad, NotAnAgent
from reglue.messages.agent_messages import Turn
from reglue.spec import Array, Arrays, TaskSpec

_PREDICTS = ("observation", "state", "episode_start", "deterministic")
"""The parameters of `predict` by which a model of Stable-Baselines3 is known."""

_MASKS = "action_masks"
"""The parameter that sb3-contrib's maskable models add."""

_MASK = "action_mask"
"""The observation that holds the masks: which actions are legal now."""


def is_model(candidate: object) -> bool:
    """Whether it has the `predict` of Stable-Baselines3's models and policies."""
    return {*_PREDICTS} <= _parameters(candidate).keys()


class ModelAgent(Agent):
    """Plays a model of Stable-Baselines3, or one like it, which keeps a state for each slot if it
    is recurrent.

    It sees observations as the VecNormalize around its training's environments makes them, whose
    statistics do not change. A model whose `predict` takes `action_masks`, as sb3-contrib's
    MaskablePPO, gets the observation `action_mask`.

    Args:
        model: has `predict(observation, state, episode_start, deterministic)`, which returns
            actions and the next state, None or a tuple of arrays. It is not seeded, and does not
            learn.
        deterministic: whether it plays its most likely action, as `evaluate_policy` does.
        vec_normalize: the file that `VecNormalize.save` wrote, for a saved model, which comes
            without its statistics. The file is unpickled, and so runs whatever it holds.

    Raises CannotLoad if there is no such file, and NotAnAgent if `predict` needs another argument.
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
        self._takes_masks = _takes_masks(model)
        self._kept = None if vec_normalize is None else _statistics(Path(vec_normalize), model)

    def check_task(self, spec: TaskSpec) -> None:
        """Raise NotAnAgent if the model was made for other spaces, or lacks its action masks."""
        if self._takes_masks and _MASK not in [tensor.name for tensor in spec.observations]:
            raise NotAnAgent(
                got="a model whose predict() takes action_masks",
                wanted=f"observations with an {_MASK}: evaluate a function that makes the "
                "environment in a wrapper that adds it; or a function without masks, such as "
                "lambda seen: model.predict(seen, deterministic=True)",
            )
        seen = [each for each in spec.observations if self._sees(each.name)]
        normalization = self._normalization()
        clip_obs = getattr(normalization, "clip_obs", None)
        check_model_spaces(self.model, seen, spec.actions, clip_obs=clip_obs)

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
        rows = {name: each[len(turn.ends) :] for name, each in turn.observations.items()}
        starts = np.arange(len(slots)) >= len(turn.steps)
        actions, states = self.model.predict(
            self._observation(rows),
            state=self._of(slots),
            episode_start=starts,
            deterministic=self.deterministic,
            **self._masks(rows),
        )
        self._keep(slots, states)
        chosen: Chosen = actions
        return chosen

    def _masks(self, rows: Arrays) -> dict[str, Array]:
        if not self._takes_masks:
            return {}
        masks = rows[_MASK]
        return {_MASKS: masks.reshape(len(masks), -1) != 0}

    def _sees(self, name: str) -> bool:
        """Whether the model sees an observation: all but masks that are only for `predict`."""
        return name != _MASK or not self._takes_masks or name in _entries(self.model)

    def _observation(self, rows: Arrays) -> Any:
        """The model's input in a turn: an array, or a dict if its observation space is one."""
        seen = {name: each for name, each in rows.items() if self._sees(name)}
        is_one = len(seen) == 1 and not _entries(self.model)
        observation = next(iter(seen.values())) if is_one else seen
        normalization = self._normalization()
        return normalization.normalize_obs(observation) if normalization else observation

    def _normalization(self) -> Any | None:
        """The VecNormalize between the task and the model."""
        find = getattr(self.model, "get_vec_normalize_env", None)
        return self._kept or (find() if find else None)

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


def _parameters(model: object) -> Mapping[str, inspect.Parameter]:
    """The parameters of `predict`; none if it has no such method."""
    predict = getattr(model, "predict", None)
    try:
        return inspect.signature(predict).parameters if callable(predict) else {}
    except (TypeError, ValueError):  # as of some C functions
        return {}


def _takes_masks(model: Any) -> bool:
    """Whether `predict` takes masks. Raises NotAnAgent if it needs another argument."""
    parameters = _parameters(model)
    needed = [
        each.name
        for each in parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if unknown := sorted({*needed} - {*_PREDICTS, _MASKS}):
        got = f"predict() that needs {', '.join(unknown)}"
        raise NotAnAgent(type(model).__name__, got=got, wanted=f"no more than {list(_PREDICTS)}")
    return _MASKS in parameters


def _entries(model: Any) -> Mapping[str, Any]:
    """The entries of the Dict that the model sees; none if it sees one array."""
    entries = getattr(getattr(model, "observation_space", None), "spaces", None)
    return entries if isinstance(entries, Mapping) else {}


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

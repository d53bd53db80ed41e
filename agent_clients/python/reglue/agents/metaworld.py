"""Plays objects written for Meta-World's evaluation utilities, unchanged.

The protocol is that of `metaworld.evaluation` 3.1.1: `Agent` (eval_action,
reset) and `MetaLearningAgent` (also init, adapt_action, step, adapt). The object
sees the calls that `evaluation` and `metalearning_evaluation` would make, in
their order and with their arrays; Meta-World itself need not be installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent, Chosen
from reglue.errors import NotAnAgent
from reglue.messages.agent_messages import EndKind, Phase, Turn
from reglue.spec import Array, TaskSpec, TensorSpec

ADAPTING_METHODS = ("init", "adapt_action", "step", "adapt")
"""The methods that `MetaLearningAgent` adds to `Agent`."""


class Timestep(NamedTuple):
    """The argument of `step`: upstream's fields in upstream's order, one row for each slot."""

    observation: Array  # (S, *shape), what the action was computed from
    action: Array  # as adapt_action returned it
    reward: npt.NDArray[np.float64]  # (S,), 0 for idle slots
    terminated: npt.NDArray[np.bool_]  # (S,)
    truncated: npt.NDArray[np.bool_]  # (S,), also if the benchmark cut an episode off
    aux_policy_outputs: dict[str, Array]  # as adapt_action returned it


class MetaWorldAgent(Agent):
    """Turns into whole `(S, …)` arrays, S being the spec's slots.

    Idle rows repeat their last observation (zeros before the first), and their
    actions are dropped. Meta-World has no training phase: `eval_action` plays TRAIN. Cases that
    Meta-World's own loop does not have:

    - a slot that starts after idling is reset once more, because eval_action has
      moved its recurrent state meanwhile;
    - an episode that is cut off or void while adapting is `truncated` with reward 0.
    """

    _played: tuple[Array, Array, dict[str, Array]] | None  # not yet passed to `step`
    _evaluating: bool  # whether this evaluation's reset(all) was called

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def adapts(self) -> bool:
        """True if the object has all of MetaLearningAgent's methods."""
        return not self.missing_to_adapt

    @property
    def missing_to_adapt(self) -> tuple[str, ...]:
        """The methods of a MetaLearningAgent that it lacks."""
        return tuple(name for name in ADAPTING_METHODS if not _has(self.inner, name))

    def check_task(self, spec: TaskSpec) -> None:
        """Raise NotAnAgent if the task's tensors do not fit the protocol."""
        _observation(spec.observations)
        _only_action(spec.actions)

    def agent_init(self, spec: TaskSpec) -> None:
        """Take the task. Raises NotAnAgent as `check_task`."""
        self._seen = _observation(spec.observations)
        self._acted = _only_action(spec.actions)
        self._observations = self._seen.empty(spec.slots)
        self._live = np.zeros(spec.slots, np.bool_)
        self._forget_play()

    def adapt_begin(self) -> None:
        """`init()`. Raises NotAnAgent if the agent lacks it."""
        if not _has(self.inner, "init"):
            self._cannot_adapt()
        self._forget_play()
        self.inner.init()

    def adapt(self) -> None:
        """`adapt()`. Raises NotAnAgent if the object cannot adapt."""
        if not self.adapts:
            self._cannot_adapt()
        self._forget_play()
        self.inner.adapt()

    def agent_freeze(self) -> None:
        """The next turn begins an evaluation, as a call of `evaluation` does."""
        self._forget_play()

    def turn(self, turn: Turn) -> Chosen:
        """`step` and `adapt_action`, or `reset` and `eval_action`.

        Raises NotAnAgent for an answer that is not the protocol's, or not of shape `(S, *shape)`.
        """
        slots = np.concatenate([turn.steps.slots, turn.starts.slots])
        self._observe(turn, slots)
        if turn.phase == Phase.ADAPT:
            actions = self._adaptation(turn, plays=len(slots) > 0)
        else:
            actions = self._evaluation(turn, plays=len(slots) > 0)
        self._live = _mask(len(self._live), slots)
        return {} if actions is None else {self._acted.name: actions[slots]}

    def _adaptation(self, turn: Turn, *, plays: bool) -> Array | None:
        if not self.adapts:
            self._cannot_adapt()
        if self._played is not None:
            observations, actions, aux = self._played
            self.inner.step(Timestep(observations, actions, *self._earned(turn), aux))
            self._played = None
        if not plays:
            return None
        observations = self._observations.copy()  # the object's own, as upstream's are
        answer = self.inner.adapt_action(observations)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise NotAnAgent(
                f"adapt_action() returned a {type(answer).__name__}, "
                "wanted a tuple of actions and a dict of auxiliary outputs"
            )
        actions = self._array("adapt_action", answer[0])
        self._played = (observations, *answer)
        return actions

    def _evaluation(self, turn: Turn, *, plays: bool) -> Array | None:
        if self._evaluating:
            self.inner.reset(_mask(len(self._live), turn.ends.slots, turn.starts.slots))
        else:
            self.inner.reset(np.ones(len(self._live), np.bool_))
            self._evaluating = True
        if not plays:
            return None
        return self._array("eval_action", self.inner.eval_action(self._observations.copy()))

    def _observe(self, turn: Turn, slots: npt.NDArray[np.uint32]) -> None:
        """Bring each slot's last observation up to date; a start's replaces an end's."""
        rows, ended = turn.observations[self._seen.name], len(turn.ends)
        if ended:
            valid = turn.ends.kinds != EndKind.VOID
            self._observations[turn.ends.slots[valid]] = rows[:ended][valid]
        self._observations[slots] = rows[ended:]

    def _earned(
        self, turn: Turn
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Rewards and the two kinds of end, (S,) each, of the actions before."""
        size, ends = len(self._live), turn.ends
        rewarded = np.concatenate([ends.slots, turn.steps.slots])
        rewards = np.zeros(size)
        rewards[rewarded] = turn.rewards
        rewards[ends.slots[ends.kinds == EndKind.VOID]] = 0.0
        terminated = _mask(size, ends.slots[ends.kinds == EndKind.TERMINATED])
        truncated = _mask(size, ends.slots[ends.kinds != EndKind.TERMINATED])
        return rewards, terminated, truncated | (self._live & ~_mask(size, rewarded))

    def _array(self, method: str, answer: Any) -> Array:
        """Actions, (S, *shape). Raises NotAnAgent."""
        if isinstance(answer, tuple):
            raise NotAnAgent(f"{method}() returned a tuple, wanted the actions alone")
        actions, wanted = np.asarray(answer), (len(self._live), *self._acted.shape)
        if actions.shape != wanted:
            raise NotAnAgent(
                f"{method}() returned shape {actions.shape}, wanted {wanted}: one row for each slot"
            )
        return actions

    def _forget_play(self) -> None:
        self._played = None
        self._evaluating = False

    def _cannot_adapt(self) -> None:
        missing = ", ".join(f"{name}()" for name in self.missing_to_adapt)
        raise NotAnAgent(f"{type(self.inner).__name__} cannot adapt: it lacks {missing}")


def _observation(tensors: Sequence[TensorSpec]) -> TensorSpec:
    named = [tensor for tensor in tensors if tensor.name == "observation"]
    if len(tensors) > 1 and not named:
        raise NotAnAgent(
            "a Meta-World agent sees one array",
            got=", ".join(tensor.name for tensor in tensors),
            wanted="one called observation",
        )
    return (named or tensors)[0]


def _only_action(tensors: Sequence[TensorSpec]) -> TensorSpec:
    if len(tensors) > 1:
        names = ", ".join(tensor.name for tensor in tensors)
        raise NotAnAgent(f"a Meta-World agent returns one array of actions, wanted {names}")
    return tensors[0]


def _has(candidate: object, method: str) -> bool:
    return callable(getattr(candidate, method, None))


def _mask(size: int, *slots: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    for each in slots:
        mask[each] = True
    return mask


# The names of Meta-World's tasks, in the order of its one-hots. Written out, since loading
# Meta-World takes most of a second; a test compares the two.

MT10: tuple[str, ...] = tuple(
    """
    reach-v3 push-v3 pick-place-v3 door-open-v3 drawer-open-v3 drawer-close-v3
    button-press-topdown-v3 peg-insert-side-v3 window-open-v3 window-close-v3
    """.split()
)
MT25: tuple[str, ...] = tuple(
    """
    reach-v3 push-v3 pick-place-v3 door-open-v3 drawer-open-v3 drawer-close-v3
    button-press-topdown-v3 peg-insert-side-v3 window-open-v3 window-close-v3
    coffee-pull-v3 pick-out-of-hole-v3 disassemble-v3 pick-place-wall-v3 basketball-v3
    stick-pull-v3 button-press-wall-v3 faucet-open-v3 door-lock-v3 lever-pull-v3
    sweep-into-v3 faucet-close-v3 coffee-button-v3 button-press-topdown-wall-v3
    dial-turn-v3
    """.split()
)
MT50: tuple[str, ...] = tuple(
    """
    assembly-v3 basketball-v3 bin-picking-v3 box-close-v3 button-press-topdown-v3
    button-press-topdown-wall-v3 button-press-v3 button-press-wall-v3 coffee-button-v3
    coffee-pull-v3 coffee-push-v3 dial-turn-v3 disassemble-v3 door-close-v3
    door-lock-v3 door-open-v3 door-unlock-v3 hand-insert-v3 drawer-close-v3
    drawer-open-v3 faucet-open-v3 faucet-close-v3 hammer-v3 handle-press-side-v3
    handle-press-v3 handle-pull-side-v3 handle-pull-v3 lever-pull-v3
    pick-place-wall-v3 pick-out-of-hole-v3 pick-place-v3 plate-slide-v3
    plate-slide-side-v3 plate-slide-back-v3 plate-slide-back-side-v3
    peg-insert-side-v3 peg-unplug-side-v3 soccer-v3 stick-push-v3 stick-pull-v3
    push-v3 push-wall-v3 push-back-v3 reach-v3 reach-wall-v3 shelf-place-v3
    sweep-into-v3 sweep-v3 window-open-v3 window-close-v3
    """.split()
)
ALL_TASKS: tuple[str, ...] = tuple(sorted(MT50))
"""The tensor `task` holds an index into it."""

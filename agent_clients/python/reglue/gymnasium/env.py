"""A session of one slot as a `gymnasium.Env`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from reglue.errors import BadArgument, NotCopied, OutOfOrder
from reglue.gymnasium.stepped_session import SteppedSession
from reglue.gymnasium.tensor_spaces import ActionRows, value_of
from reglue.gymnasium.turn_result import TurnResult
from reglue.messages.agent_messages import Budget, Phase
from reglue.spaces import space_of
from reglue.spec import Array, TaskSpec

_ALL = np.ones(1, np.bool_)


class GlueEnv(gymnasium.Env[Any, Any]):
    """Plays the episodes of a glue's run, one after another; the program steps them.

    `reset` begins the next episode of the glue's; one in mid-episode is abandoned, which is free
    while the agent trains and a failed episode where it is judged. A seed in the first `reset` is
    the training seed of episodes that are played here; later, and at a glue, `reset(seed=…)` seeds
    `np_random` alone. `info` has the `phase` and the `start_seed` of an episode that begins,
    `clipped` if the last action lay out of its bounds, `void` if the environment failed,
    `cut_off` if the glue ended the episode for another one, and at an end `is_success`, where the
    episodes are played here and the benchmark is judged by success, or the environment reports it.

    A copy, by pickle too, begins anew with the same arguments; a session cannot be copied.

    Raises TrainingOver if the glue judges what follows: see `evaluate`.
    """

    def __init__(
        self,
        session: SteppedSession,
        render_mode: str | None = None,
        again: Callable[[], GlueEnv] | None = None,
    ) -> None:
        """`again` makes a copy with the same arguments; None: it cannot be copied."""
        self.metadata = drawing_metadata(render_mode)
        self.render_mode = render_mode
        self._again = again
        self.task_spec: TaskSpec = session.spec
        self.observation_space = space_of(session.spec.observations)
        self.action_space = space_of(session.spec.actions)
        self._session = session
        self._rows = ActionRows(session.spec.actions, 1)
        self._leave = weakref.finalize(self, session.leave)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins anew. Raises NotCopied."""
        return reduced(self._again)

    @property
    def budget(self) -> Budget:
        """This agent's remaining time, microseconds."""
        return self._session.budget

    @property
    def policy(self) -> object:
        """The agent that plays the episodes that are judged; None: they raise TrainingOver."""
        return self._session.policy

    @policy.setter
    def policy(self, policy: object) -> None:
        self._session.set_policy(policy)

    def evaluate(self, policy: object) -> str | None:
        """Let `policy` play the episodes that are judged, after TrainingOver.

        Args:
            policy: An agent, a model of Stable-Baselines3, or a function of a batch of
                observations, `(rows, *shape)` or a dict of these, that returns actions.

        Returns:
            Why the session ended, or None if training goes on: `reset()` then.

        Raises:
            OutOfOrder: The glue judges nothing now.
        """
        return self._session.evaluate(policy)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode; there are no options. Raises TrainingOver, SessionLost."""
        super().reset(seed=seed)
        if options:
            raise BadArgument(got=f"options {sorted(options)}", wanted="none")
        session = self._session
        session.choose(seed)
        session.begin_run()
        session.begin()
        if session.acts[0] and not (session.untouched[0] and session.phase is Phase.EVALUATE):
            session.renew(_ALL)
            session.begin()
        session.show(_ALL)
        return self._seen(session.observations()), {
            "phase": session.phase.name.lower(),
            "start_seed": session.start_seeds[0],
        }

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step. Raises BadArgument, OutOfOrder, TrainingOver, SessionLost."""
        session = self._session
        session.check_open()
        if not session.acts[0]:
            raise OutOfOrder(got="step() without an episode", wanted="reset() first")
        result = session.act(self._rows.arrays(_batch_of_one(action)))
        terminated, truncated = bool(result.terminated[0]), bool(result.truncated[0])
        info = _info(result)
        if (terminated or truncated) and (succeeded := session.succeeded(0)) is not None:
            info["is_success"] = succeeded
        seen = session.observations()
        return self._seen(seen), float(result.rewards[0]), terminated, truncated, info

    def render(self) -> Any:
        """A picture of the episode, (height, width, 3) uint8; None without a `render_mode`.

        Raises UsageError before the first reset, and if the environment cannot draw.
        """
        return self._session.picture(0) if self.render_mode else None

    def close(self) -> None:
        """Leave the session, and tell the glue."""
        self._leave()

    def _seen(self, rows: dict[str, Array]) -> Any:
        return value_of(
            self.task_spec.observations,
            {
                each.name: rows[each.name][0] if each.shape else _scalar(rows[each.name])
                for each in self.task_spec.observations
            },
        )


def drawing_metadata(render_mode: str | None) -> dict[str, Any]:
    """Gymnasium's `metadata` of an environment with this render mode."""
    return (
        {"render_modes": [render_mode], "render_fps": 30} if render_mode else {"render_modes": []}
    )


def reduced(again: Callable[[], object] | None) -> tuple[Any, ...]:
    """The result of `__reduce__` for an environment that `again` makes. Raises NotCopied."""
    if again is None:
        raise NotCopied(
            "a session at a glue has one program and cannot be copied: reglue.make() makes another"
        )
    return again, ()


def _scalar(rows: Array) -> Any:
    """A number of an integer tensor; of a float one an array of shape (), as a Box has it."""
    return rows[0] if rows.dtype.kind in "iu" else rows[0, ...]


def _batch_of_one(action: Any) -> Any:
    if isinstance(action, dict):
        return {name: np.asarray(value)[np.newaxis] for name, value in action.items()}
    return np.asarray(action)[np.newaxis]


def _info(result: TurnResult) -> dict[str, bool]:
    """The flags that are set."""
    keys = ("clipped", "defaulted", "void", "cut_off")
    return {word: True for word in keys if getattr(result, word) is not None}

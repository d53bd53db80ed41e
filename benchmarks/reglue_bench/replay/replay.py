"""Plays an episode again and checks that it is the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

from env_adapters import Suite
from glue_server.agent.actions import unpacked
from reglue.environments.environment import fault_text
from reglue.environments.validation import conforming_observation, conforming_step
from reglue.errors import EnvironmentFault, ReglueError, UsageError
from reglue.messages.value import value
from reglue.spec import Arrays
from reglue_bench.float_range import within
from reglue_bench.replay.recorded import Recorded

_Answer = TypeVar("_Answer")


@value
class Moment:
    """A step of an episode. Step 0 is its start, which has only an `observation`."""

    step: int
    observation: Arrays
    action: Arrays | None = None
    reward: float = 0.0
    return_: float = 0.0  # so far
    terminated: bool = False
    truncated: bool = False
    success: bool = False


class Replay:
    """Replays one recorded episode in its own world."""

    def __init__(self, recorded: Recorded, suite: Suite) -> None:
        """`suite` is the recorded one's, made with or without pictures.

        Raises UsageError if its world cannot be made.
        """
        self.spec = suite.spec
        self._recorded = recorded
        try:
            self.world = suite.world()
        except ReglueError:
            raise
        except Exception as error:  # the edge of somebody's world
            cause = f"{type(error).__name__}: {error}"
            raise UsageError(f"the environment cannot be made here: {cause}") from error

    def moments(self) -> Iterator[Moment]:
        """The start and the steps of the episode, as they are played.

        Raises EnvironmentFault if it differs from the record: at the first other reward if rewards
        are kept, else at the episode's end.
        """
        row, return_, first_success = self._recorded.row, 0.0, 0
        actions = self._actions()
        first = self._tried(0, lambda: self.world.start(self._recorded.order.cell))
        yield Moment(0, self._observation(0, first))
        for step in range(1, row.steps + 1):
            action = {name: rows[step - 1] for name, rows in actions.items()}
            taken = self._tried(step, lambda act=action: conforming_step(self.world.step(act)))  # type: ignore[misc]
            self._check_reward(step, float(taken.reward))
            return_ += float(taken.reward)
            first_success = first_success or step * bool(taken.success)
            is_over = bool(taken.terminated or taken.truncated)
            yield Moment(
                step=step,
                observation=self._observation(step, taken.observation),
                action=action,
                reward=float(taken.reward),
                return_=return_,
                terminated=bool(taken.terminated),
                truncated=bool(taken.truncated),
                success=bool(taken.success),
            )
            if is_over and step < row.steps:
                raise self.differs(step, "the end of the episode", f"the end at {row.steps}")
        self._check_end(return_, first_success=first_success, is_over=is_over)

    def close(self) -> None:
        """Close the world."""
        self.world.close()

    def differs(self, step: int, got: str, wanted: str) -> EnvironmentFault:
        """The error for a replay that differs from its recording, with the changed versions."""
        changes = "; ".join(self._recorded.changes) or (
            "versions are the same, so its code, its files or its randomness differ"
        )
        return EnvironmentFault(
            f"not replayed: step {step} of {self._recorded.row.steps}: got {got}, recorded was "
            f"{wanted}. The environment has changed since, or is not deterministic ({changes})"
        )

    def _actions(self) -> Arrays:
        """(steps, *shape) of each tensor."""
        row_bytes = sum(tensor.row_bytes for tensor in self.spec.actions)
        packed, steps = self._recorded.actions, self._recorded.row.steps
        if len(packed) % row_bytes or len(packed) // row_bytes < steps:
            raise self.differs(
                0, f"actions of {row_bytes} bytes", f"{len(packed)} bytes for {steps} steps"
            )
        return unpacked(packed, self.spec.actions)

    def _observation(self, step: int, observation: object) -> Arrays:
        return self._tried(step, lambda: conforming_observation(observation, self.spec, ()))

    def _tried(self, step: int, ask: Callable[[], _Answer]) -> _Answer:
        try:
            return ask()
        except Exception as error:  # the edge of somebody's world
            raise self.differs(step, fault_text(error), "no error") from error

    def _check_reward(self, step: int, reward: float) -> None:
        wanted = self._recorded.rewards
        if wanted is not None and reward != wanted[step - 1]:
            raise self.differs(step, f"reward {reward!r}", f"reward {float(wanted[step - 1])!r}")

    def _check_end(self, return_: float, *, first_success: int, is_over: bool) -> None:
        row = self._recorded.row
        if within(return_) != row.return_:
            raise self.differs(row.steps, f"return {return_!r}", f"return {row.return_!r}")
        if row.status != "ok":
            return
        if not math.isfinite(return_):
            raise self.differs(row.steps, f"return {return_!r}", "a finite one")
        if (won := first_success > 0) != row.success:
            raise self.differs(row.steps, f"success {won}", f"success {row.success}")
        if first_success != row.first_success:
            got, wanted = (f"first success at step {n}" for n in (first_success, row.first_success))
            raise self.differs(row.steps, got, wanted)
        if not is_over and not self._recorded.cut_off:
            raise self.differs(row.steps, "an episode that goes on", "its end")

"""The seam between the glue and an environment: the protocol, and a local environment."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from glue_server.processes.interrupts import raise_stop
from reglue.environments.environment import Environment, fault_text
from reglue.environments.environment_dispatch import environment_hello, play_environment
from reglue.environments.slot_worlds import Worlds
from reglue.errors import BadReply, EnvironmentFault, EnvironmentLost
from reglue.messages.agent_messages import Cleanup, RoutineDone, TextMessage
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentReady,
    EnvironmentReply,
    Play,
    Played,
    Snapshot,
)
from reglue.spec import TaskSpec
from reglue.tracebacks import explained

log = logging.getLogger("reglue")

_NUMBERS, _FLAGS = np.dtype(np.float64), np.dtype(np.bool_)


class EnvironmentPort(Protocol):
    """An environment: in this process, in workers, or at the other end of a stream.

    Calls are answered in their order. Plays that are under way are of different slots.
    """

    @property
    def hello(self) -> EnvironmentHello:
        """The environment's description of itself."""

    @property
    def where(self) -> str:
        """The place at which episodes that begin now are played, in words."""

    @property
    def renews(self) -> bool:
        """Whether a slot can get another process."""

    @property
    def blank(self) -> Collection[int]:
        """The slots whose process was replaced, and which it has not been asked about since."""

    @property
    def is_away(self) -> bool:
        """Whether the environment is away, though it may come back."""

    def send(self, call: EnvironmentCall) -> None:
        """Hand over a call that is answered. Raises EnvironmentFault."""

    def receive(self, timeout_s: float) -> EnvironmentReply | None:
        """Wait for the answer to the oldest call.

        None: one came that is late, to a call that is over. A Played has the rows and dtypes of
        its Play. Its arrays belong to the caller.

        Raises EnvironmentFault (the environment is gone, too slow, or said that it failed) and
        BadReply (the answer does not fit; the session goes on).
        """

    def filenos(self) -> Sequence[int]:
        """One of them is readable when a part of the next answer waits.

        Empty if the answer is there once `send` has returned.
        """

    def is_ready(self) -> bool:
        """Whether the whole next answer has come, or the environment is lost."""

    def renew(self, slot: int) -> None:
        """Give a slot, whose environment failed, a fresh process if one can be had.

        If it cannot, its next start is in a fresh world, or as fresh as the environment makes
        it. No Play is under way.
        """

    def refuse(self, refused: BadReply) -> None:
        """Tell the environment why its last answer was not taken."""

    def close(self, reason: str) -> None:
        """Say farewell and let the environment go."""


class LocalEnvironmentPort:
    """An environment object in this process. Nothing limits the time that it takes.

    It cannot end this process: a SystemExit, or a KeyboardInterrupt without Ctrl-C, is its fault.
    """

    where = "this process"
    renews = False
    blank: Collection[int] = ()
    is_away = False

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment = environment
        if isinstance(environment, Worlds):
            environment.raise_stop = raise_stop
        self._is_checked = False  # worlds check each row as they take it: nobody looks again
        self._replies: deque[EnvironmentReply | BadReply] = deque()
        self._owes_cleanup = False
        self.hello = environment_hello(environment, name)

    def send(self, call: EnvironmentCall) -> None:
        """Let the environment answer at once; `receive` returns the answer.

        Raises EnvironmentFault, with the author's frames, for whatever the environment raises;
        EnvironmentLost as it is.
        """
        try:
            if self._is_checked and isinstance(call, Play):
                self._replies.append(self._environment.play(call))
                return
            reply = play_environment(self._environment, call)
            self._replies.append(self._checked(call, reply))
        except BadReply as refused:
            self._replies.append(refused)
        except EnvironmentLost:
            self._replies.clear()
            raise
        except BaseException as error:
            raise_stop(error)
            log.error("the environment failed: %s", explained(error))
            raise EnvironmentFault(fault_text(error)) from error

    def receive(self, timeout_s: float) -> EnvironmentReply:
        """Return the answer to the oldest call; it is there already. Raises BadReply."""
        reply = self._replies.popleft()
        if isinstance(reply, BadReply):
            raise reply
        return reply

    def filenos(self) -> Sequence[int]:
        """None: the answer is there."""
        return ()

    def is_ready(self) -> bool:
        """Always."""
        return True

    def renew(self, slot: int) -> None:
        """Do nothing: an environment of worlds replaces a failed world by itself."""

    def refuse(self, refused: BadReply) -> None:
        """Log it for the environment's author."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """Call env_cleanup if it is still owed; an object needs no farewell."""
        if not self._owes_cleanup:
            return
        self._owes_cleanup = False
        try:
            self._environment.env_cleanup()
        except BaseException as error:  # noqa: BLE001 - the edge of somebody's environment
            raise_stop(error)
            log.error("the environment could not be cleaned up: %s", explained(error))

    def _checked(self, call: EnvironmentCall, reply: EnvironmentReply | None) -> EnvironmentReply:
        """Check what decoding checks for answers that come over a wire. Raises BadReply."""
        match reply:
            case Played() if isinstance(call, Play):
                check_played(self._environment.spec, call, reply)
                return reply if reply.is_fresh else _copied(self._environment.spec, reply)
            case None:
                raise BadReply("WRONG_KIND", got="nothing", wanted="an answer")
            case Snapshot(snapshot) if not isinstance(snapshot, bytes):
                raise BadReply("WRONG_KIND", got=type(snapshot).__name__, wanted="bytes")
            case TextMessage(text) if not isinstance(text, str):
                raise BadReply("WRONG_KIND", got=type(text).__name__, wanted="a string")
            case EnvironmentReady():
                self._owes_cleanup = True
                self._is_checked = type(self._environment).play is Worlds.play
            case RoutineDone() if isinstance(call, Cleanup):
                self._owes_cleanup = False
        return reply


def check_played(spec: TaskSpec, play: Play, played: Played) -> None:
    """Raise BadReply unless `played` has the rows of `play`, in the spec's dtypes."""
    steps, rows = len(play.slots), len(play.slots) + len(play.starts)
    for tensor in spec.observations:
        seen = played.observations.get(tensor.name)
        _check_rows(tensor.name, seen, (rows, *tensor.shape), tensor.numpy_dtype)
    _check_rows("rewards", played.rewards, (steps,), _NUMBERS)
    _check_rows("terminated", played.terminated, (steps,), _FLAGS)
    _check_rows("truncated", played.truncated, (steps,), _FLAGS)
    _check_rows("success", played.success, (steps,), _FLAGS)
    if played.faults and not {*play.slots.tolist(), *play.starts}.issuperset(played.faults):
        got = f"faults of slots {list(played.faults)}"
        raise BadReply("OUT_OF_DOMAIN", got=got, wanted="slots that were asked")
    finite = np.isfinite(played.rewards)
    if 0 in finite.tobytes():
        for row in (~finite).nonzero()[0].tolist():
            if (slot := int(play.slots[row])) not in played.faults:
                got = f"reward {played.rewards[row]} in slot {slot}"
                raise BadReply("NOT_FINITE", got=got, wanted="a finite number")


def _check_rows(name: str, values: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(values, np.ndarray):
        raise BadReply("WRONG_KIND", got=f"{name} = {values!r}", wanted="an array")
    if values.shape != shape or values.dtype != dtype:
        got = f"{name!r} of shape {values.shape}, {values.dtype}"
        raise BadReply("WRONG_SIZE", got=got, wanted=f"shape {shape}, {dtype}")


def _copied(spec: TaskSpec, played: Played) -> Played:
    """Copy each array: the environment may write to its own again, and the caller to these."""
    seen = {tensor.name: played.observations[tensor.name].copy() for tensor in spec.observations}
    return replace(
        played,
        rewards=played.rewards.copy(),
        observations=seen,
        terminated=played.terminated.copy(),
        truncated=played.truncated.copy(),
        success=played.success.copy(),
    )

"""Where the glue meets an environment: the seam between it and every transport."""

from __future__ import annotations

import logging
from collections import deque
from typing import Protocol, TypeVar

from glue_server.environment.checks import check_played
from reglue.environments.dispatch import environment_hello, play_environment
from reglue.environments.environment import Environment, words
from reglue.errors import (
    ROUTINE_REFUSALS,
    BadReply,
    EnvironmentFault,
    RoutineRefused,
)
from reglue.messages.agent import Cleanup, Done, Message, Refusal
from reglue.messages.environment import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentReply,
    Play,
    Played,
    Ready,
    Snapshot,
)
from reglue.spec import TaskSpec

log = logging.getLogger("reglue")

_Kind = TypeVar("_Kind")


class EnvironmentPort(Protocol):
    """An environment at the other end of a transport."""

    @property
    def hello(self) -> EnvironmentHello:
        """What the environment said of itself."""

    def send(self, call: EnvironmentCall) -> None:
        """Hand over a call that is answered. Raises EnvironmentFault."""

    def receive(self, timeout_s: float) -> EnvironmentReply:
        """The answer to the oldest call; a Played has the rows and dtypes of its Play.

        Its arrays are the caller's: nobody else writes to them.

        Raises EnvironmentFault (it is gone, too slow, or said that it failed) and
        BadReply (an answer that does not fit; the session goes on).
        """

    def fileno(self) -> int | None:
        """Readable when an answer waits; None where it is there once `send` has returned."""

    def refuse(self, refused: BadReply) -> None:
        """Tell the environment why its last answer was not taken."""

    def close(self, reason: str) -> None:
        """Say farewell and let the environment go."""


def ask_environment(
    port: EnvironmentPort, call: EnvironmentCall, kind: type[_Kind], *, timeout_s: float
) -> _Kind:
    """Send a call other than a Play and wait for its answer, which is to be a `kind`.

    Raises RoutineRefused (or the kind of it that the environment named), after which
    nothing has changed, and EnvironmentFault for anything else.
    """
    port.send(call)
    try:
        reply = port.receive(timeout_s)
        if isinstance(reply, Refusal):
            kind_of = ROUTINE_REFUSALS.get(reply.code, RoutineRefused)
            raise kind_of(got=reply.got, wanted=reply.wanted)
        if not isinstance(reply, kind):
            raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted=kind.__name__)
    except BadReply as refused:
        port.refuse(refused)
        raise EnvironmentFault(f"the environment's answer does not fit: {refused}") from refused
    return reply


def receive_played(
    port: EnvironmentPort, spec: TaskSpec, play: Play, *, timeout_s: float
) -> Played:
    """Wait for the answer to `play`. One that does not fit is the fault of all its slots.

    Raises EnvironmentFault when the environment is lost.
    """
    try:
        played = port.receive(timeout_s)
        if not isinstance(played, Played):
            raise BadReply("WRONG_KIND", got=type(played).__name__, wanted="Played")
    except BadReply as refused:
        port.refuse(refused)
        what = f"the environment's answer does not fit: {refused}"
        return Played.blank(spec, play, dict.fromkeys((*play.slots.tolist(), *play.starts), what))
    return played


def check_ready(ready: Ready, slots: int) -> None:
    """Raise EnvironmentFault for a promise that cannot be played."""
    if ready.spec.slots != slots:
        raise EnvironmentFault(f"env_init: got a TaskSpec of {ready.spec.slots} slots, not {slots}")
    if not ready.variants or min(ready.variants.values()) < 1:
        raise EnvironmentFault(
            f"env_init: got tasks {dict(ready.variants)}, wanted at least one, with variants"
        )


class LocalEnvironmentPort:
    """An environment object in this process."""

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment = environment
        self._replies: deque[EnvironmentReply | BadReply] = deque()
        self._owes_cleanup = False
        self.hello = environment_hello(environment, name)

    def send(self, call: EnvironmentCall) -> None:
        """Let the environment answer at once; `receive` hands its answer out.

        Raises EnvironmentFault, with the lines, for whatever the environment raises.
        """
        try:
            reply = play_environment(self._environment, call)
            self._replies.append(self._checked(call, reply))
        except BadReply as refused:
            self._replies.append(refused)
        except Exception as error:
            log.exception("the environment failed")
            raise EnvironmentFault(words(error)) from error

    def receive(self, timeout_s: float) -> EnvironmentReply:
        """The answer to the oldest call; it is there already. Raises BadReply."""
        reply = self._replies.popleft()
        if isinstance(reply, BadReply):
            raise reply
        return reply

    def fileno(self) -> None:
        """None: the answer is there."""

    def refuse(self, refused: BadReply) -> None:
        """Log it: the environment's author reads along."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """Release what env_init took, if nobody has; an object needs no farewell."""
        if not self._owes_cleanup:
            return
        self._owes_cleanup = False
        try:
            self._environment.env_cleanup()
        except Exception:
            log.exception("the environment could not be cleaned up")

    def _checked(self, call: EnvironmentCall, reply: EnvironmentReply | None) -> EnvironmentReply:
        """What decoding does for answers that come over a wire. Raises BadReply."""
        match reply:
            case Played() if isinstance(call, Play):
                check_played(self._environment.spec, call, reply)
                return reply if reply.is_fresh else _copied(self._environment.spec, reply)
            case None:
                raise BadReply("WRONG_KIND", got="nothing", wanted="an answer")
            case Snapshot(snapshot) if not isinstance(snapshot, bytes):
                raise BadReply("WRONG_KIND", got=type(snapshot).__name__, wanted="bytes")
            case Message(text) if not isinstance(text, str):
                raise BadReply("WRONG_KIND", got=type(text).__name__, wanted="a string")
            case Ready():
                self._owes_cleanup = True
            case Done() if isinstance(call, Cleanup):
                self._owes_cleanup = False
        return reply


def _copied(spec: TaskSpec, played: Played) -> Played:
    """An environment may write to its own arrays again, and so may others to theirs."""
    return Played(
        played.rewards.copy(),
        {tensor.name: played.observations[tensor.name].copy() for tensor in spec.observations},
        played.terminated.copy(),
        played.truncated.copy(),
        played.success.copy(),
        played.faults,
    )

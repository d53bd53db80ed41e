"""Calls an agent or an environment over the streams of its session."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Protocol

from glue_server.processes.interrupts import next_look_s
from glue_server.rpc.connection import Connection, Wakeup
from glue_server.rpc.server_session import PeerSession
from reglue.environments.validation import DomainCheck
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadAgentReply,
    BadReply,
    EnvironmentFault,
    EnvironmentTimeout,
    OutOfDomain,
    ReglueError,
    SpecError,
    UsageError,
)
from reglue.messages.agent_messages import (
    INTERRUPTED,
    UNLIMITED,
    AgentInit,
    Budget,
    Call,
    Farewell,
    Fault,
    Numbered,
    Refusal,
    Reply,
    Turn,
)
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentReady,
    EnvironmentReply,
    Play,
    Played,
)
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec
from reglue.wire.agent_encoding import decode_reply
from reglue.wire.environment_encoding import decode_environment_reply, encode_environment_call
from reglue.wire.layout import Repeats, encode_repeated_turn
from reglue.wire.session_encoding import received_text
from reglue.wire.sizes import check_size

WINDOW = 8
"""Most calls under way at once; peers remember as many answers."""


class Codec(Protocol):
    """How one role's calls, Refusal and Farewell are encoded, and its answers decoded."""

    def encode(self, seq: int, call: Any, budget: Budget) -> bytes:
        """The message of a call. Raises UsageError for one that is too large."""

    def decode(self, message: Any, call: Any) -> Any:
        """The answer to `call`. Raises BadReply, and the peer's fault if it says so."""

    def timed_out(self, timeout_s: float) -> ReglueError:
        """The error of a peer that did not answer in time."""

    peer: str
    """`agent` or `environment`."""

    lost: type[ReglueError]
    """The error of a peer that is gone."""


class StreamPort(PeerSession):
    """Calls an agent or an environment. Keeps each call until its answer has come."""

    where = "a program that connected"
    renews = False  # nobody but its owner can start a remote environment anew
    blank: Collection[int] = ()
    is_replaced: Callable[[], bool] = staticmethod(lambda: False)
    """Whether another waits to take its place, once its stream is broken."""

    def __init__(self, hello: Any, codec: Codec, *, reconnect_window_s: float = 0.0) -> None:
        super().__init__(hello, reconnect_window_s=reconnect_window_s)
        self._codec = codec
        self._unheard: deque[tuple[int, bytes]] = deque()  # messages that may have to be sent again
        self._waiting: dict[int, Any] = {}  # calls whose answer is waited for, by number
        self._late: list[int] = []  # numbers of calls that were not answered in time, nor since
        self._sent = 0  # number of the last message
        self._heard = 0  # number of the last call whose answer has come
        self._unasked = 0  # messages since the last call that answered none
        self._early: Any = None  # an answer that came before that to an older call
        self._fault: str | None = None  # what the peer said of its failure

    def send(self, call: Any, budget: Budget = UNLIMITED) -> None:
        """Number the call and send it, up to WINDOW calls before their answers.

        Raises the peer's loss, UsageError (too large, or one call too many).
        """
        if len(self._waiting) >= WINDOW:
            got = f"{len(self._waiting) + 1} calls without an answer"
            raise UsageError(got=got, wanted=f"at most {WINDOW}: receive() an answer first")
        if self._is_lost:
            raise self._loss()
        message = self._codec.encode(self._sent + 1, call, budget)
        with self._lock:
            self._post(message)
            self._waiting[self._sent] = call
            self._unasked = 0

    @property
    def owed(self) -> int:
        """How many calls were not answered in time, nor since."""
        return len(self._late)

    @property
    def is_away(self) -> bool:
        """Whether its stream is broken, and may come back."""
        return not (self.is_connected or self.is_gone)

    @property
    def why_gone(self) -> str:
        """Why the peer has left, without words of its own: they may contain secrets."""
        was_interrupted = self._fault == INTERRUPTED
        return f"the {self._codec.peer} {'was interrupted' if was_interrupted else 'is lost'}"

    def receive(self, timeout_s: float, more_s: Callable[[], float] | None = None) -> Any:
        """The answer to the oldest call that waits for one; None: a late one to an earlier call.

        When its time is up, it is waited for longer: `more_s()` seconds, until that is 0.

        Raises BadReply (it does not fit; the session goes on), the peer's fault, delay or loss,
        and KeyboardInterrupt: see check_stop.
        """
        deadline = time.monotonic() + timeout_s
        seq = next(iter(self._waiting))
        while True:
            # What came in before the peer left still counts.
            gone_at = self._gone_at()
            left_s = max(0.0, min(deadline, gone_at) - time.monotonic())
            message = self._receive(next_look_s(left_s))
            if message is None:
                self._check_loss(gone_at)
                if time.monotonic() >= deadline:
                    more = 0.0 if more_s is None else more_s()
                    if not more:
                        self._give_up(seq, timeout_s)
                    deadline += more
            elif message.HasField("fault") and self._fault == INTERRUPTED:
                raise self._loss()
            elif message.seq == seq or message.HasField("fault"):
                return self._codec.decode(message, self._waiting.pop(seq))
            elif message.seq < seq:
                return None
            else:
                self._early = message  # for its own call
                del self._waiting[seq]
                self._show_inbox()
                got = f"the answer to call {message.seq} before that to call {seq}"
                raise BadReply("OUT_OF_ORDER", got=got, wanted="answers in the order of calls")

    def refuse(self, refused: BadReply) -> None:
        """Tell the peer that its last answer was not taken."""
        refusal = Refusal(self._heard, refused.code, refused.got, refused.wanted)
        message = self._codec.encode(self._sent + 1, refusal, UNLIMITED)
        with self._lock:
            self._post(message)

    def renew(self, slot: int) -> None:
        """An environment of worlds makes one that failed anew."""

    def filenos(self) -> Sequence[int]:
        """Readable when an answer has come, or the beginning of one, or the stream broke."""
        with self._lock:
            return (self._watched().fileno(),)

    def is_ready(self) -> bool:
        """Whether one of those waits."""
        with self._lock:
            return self._watched().is_readable()

    def _receive(self, timeout_s: float) -> Any | None:
        if (early := self._early) is None:
            return super()._receive(timeout_s)
        self._early = None
        self._show_inbox()
        return early

    def _wake(self, wakeup: Wakeup) -> None:
        super()._wake(wakeup)
        if self._early is not None:
            wakeup.set()

    def _watched(self) -> Wakeup:
        """Made when it is first asked for, the lock being held."""
        if self._wakeup is None:
            self._wakeup = Wakeup(self._connection)
            self._wake(self._wakeup)
        return self._wakeup

    def _loss(self) -> ReglueError:
        """The error of a peer that is gone, with its own last words if there are any."""
        if self._fault == INTERRUPTED:
            return self._codec.lost(self.why_gone)
        why = self._why_lost if self._fault is None else f"; it said: {self._fault}"
        return self._codec.lost(f"the {self._codec.peer}'s connection is gone{why}")

    def _check_loss(self, gone_at: float) -> None:
        """Raise the peer's loss once it is time, or it is replaced."""
        if self._broken_at is not None and self.is_replaced():
            self.give_up()
            gone_at = self._gone_at()
        if time.monotonic() >= gone_at:
            with self._lock:
                if self._connection is None:
                    self._is_lost = True
                    self._waiting.clear()
            raise self._loss()

    def _give_up(self, seq: int, timeout_s: float) -> NoReturn:
        """Raise the peer's delay."""
        with self._lock:
            self._late.append(seq)
            del self._waiting[seq]
        raise self._codec.timed_out(timeout_s)

    def _resumable(self) -> range:
        return range(self._heard, self._sent + 1)

    def _resume(self, connection: Connection) -> None:
        for _, message in self._unheard:
            connection.put(message)
        if self._is_closed:
            connection.end()

    def _is_wanted(self, message: Any) -> bool:
        """Whether it answers a call for the first time, or is a fault, which comes unasked.

        Repeats are a few. A peer that sends more floods us: it is lost.
        """
        if message.HasField("fault"):
            self._is_lost = True  # it leaves
            if self._fault is not None:
                return self._is_unasked()
            self._fault = received_text(message.fault.what)
            return True
        seq = message.seq
        if seq <= self._heard or not (seq in self._waiting or seq in self._late):
            return self._is_unasked()
        if self._late:
            self._late = [each for each in self._late if each > seq]
        while self._unheard and self._unheard[0][0] <= seq:
            self._unheard.popleft()
        self._heard = seq
        return True

    def _is_unasked(self) -> bool:
        """Count a message that nobody waits for; never wanted."""
        self._unasked += 1
        if self._unasked > (WINDOW if self._sent else 0):
            self._is_lost = True
            self._change(None)
            self._hand_over(None)
        return False

    def _post(self, message: bytes) -> None:
        """Send a message, the lock being held."""
        if self._connection is not None:
            self._connection.put(message)
        self._sent += 1  # what follows is done while the peer works
        self._unheard.append((self._sent, message))

    def _say_farewell(self, reason: str) -> None:
        self._post(self._codec.encode(self._sent + 1, Farewell(reason), UNLIMITED))


class AgentCodec:
    """AgentCall and AgentReply."""

    peer = "agent"
    lost: type[ReglueError] = AgentDisconnected

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._spec: TaskSpec | None = None
        self._turns = Repeats()

    def encode(self, seq: int, call: Call, budget: Budget) -> bytes:
        """An AgentCall; AgentInit fixes the spec of what follows. Raises UsageError (too large)."""
        if isinstance(call, AgentInit):
            check_size(call.spec, self._max_message_bytes)
            self._spec = call.spec
            self._turns = Repeats()
            keep_blocks_for(self._spec)
        message = encode_repeated_turn(Numbered(seq, call, budget), self._spec, self._turns)
        if not isinstance(call, Turn):  # AgentInit has seen to those
            check_bytes(len(message), self._max_message_bytes)
        return message

    def decode(self, message: Any, call: Call) -> Reply:
        """The answer. Raises BadAgentReply, AgentFault."""
        rows = len(call.steps.slots) + len(call.starts.slots) if isinstance(call, Turn) else 0
        try:
            reply = decode_reply(message, self._spec, rows)
        except BadReply as bad:
            raise BadAgentReply.of(bad) from bad
        if isinstance(reply, Fault):
            raise AgentFault(reply.what)
        return reply

    def timed_out(self, timeout_s: float) -> ReglueError:
        """AgentTimeout."""
        return AgentTimeout.after(timeout_s)


class EnvironmentCodec:
    """EnvironmentCall and EnvironmentReply."""

    peer = "environment"
    lost: type[ReglueError] = EnvironmentFault

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._spec: TaskSpec | None = None
        self._domains: DomainCheck

    def encode(self, seq: int, call: EnvironmentCall | Refusal | Farewell, budget: Budget) -> bytes:
        """An EnvironmentCall; environments have no budget."""
        message = encode_environment_call(seq, call, self._spec).SerializeToString()
        if not isinstance(call, Play):  # env_init has seen to those
            check_bytes(len(message), self._max_message_bytes)
        return message

    def decode(self, message: Any, call: EnvironmentCall) -> EnvironmentReply:
        """The answer; EnvironmentReady fixes the spec. Raises BadReply, EnvironmentFault."""
        try:
            reply = decode_environment_reply(message, call, self._spec)
        except SpecError as error:
            raise EnvironmentFault(f"the environment's TaskSpec does not do: {error}") from error
        if isinstance(reply, Fault):
            raise EnvironmentFault(reply.what)
        if isinstance(reply, EnvironmentReady):
            try:
                check_size(reply.spec, self._max_message_bytes)
            except UsageError as error:
                raise EnvironmentFault(str(error)) from error
            if self._spec != reply.spec:
                self._domains = DomainCheck(reply.spec)  # else it counts on
            self._spec = reply.spec
            keep_blocks_for(self._spec)
        if isinstance(reply, Played) and isinstance(call, Play):
            return self._checked(reply, call)
        return reply

    def _checked(self, played: Played, play: Play) -> Played:
        """Add faults and a count of what lies outside its domain: not every client checks."""
        slots, domains = [*play.slots.tolist(), *play.starts], self._domains
        mistakes = domains.mistakes(played.observations, slots, played.faults)
        if not (mistakes or domains.outside_last):
            return played
        faults = {**played.faults, **mistakes}
        return replace(played, faults=faults, outside=domains.outside_last)

    def timed_out(self, timeout_s: float) -> ReglueError:
        """EnvironmentTimeout."""
        return EnvironmentTimeout(
            f"the environment did not answer within {timeout_s:g} s (environment timeout)"
        )


def check_bytes(size: int, most: int) -> None:
    """Raise OutOfDomain for a message that is too large."""
    if size > most:
        raise OutOfDomain(got=f"a message of {size} bytes", wanted=f"at most {most}")

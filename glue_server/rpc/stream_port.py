"""Calls an agent or an environment over the streams of its session."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

from glue_server.processes.interrupts import next_look_s
from glue_server.rpc.peer_codecs import Codec
from glue_server.rpc.peer_streams import Stream, Wakeup
from glue_server.rpc.server_session import PeerSession, Repeated
from reglue.errors import (
    BadReply,
    ReglueError,
    UsageError,
)
from reglue.messages.agent_messages import (
    INTERRUPTED,
    UNLIMITED,
    Budget,
    Farewell,
    Refusal,
)
from reglue.wire.layout import numbered
from reglue.wire.session_encoding import received_text

WINDOW = 8
"""Most calls under way at once; peers remember as many answers."""


class StreamPort(PeerSession):
    """Calls an agent or an environment. Keeps each call until its answer has come."""

    where = "a program that connected"
    renews = False  # nobody but its owner can start a remote environment anew
    blank: Collection[int] = ()
    is_replaced: Callable[[], bool] = staticmethod(lambda: False)
    """Whether another waits to take its place, once its stream is broken."""
    check_blame: Callable[[], object] = staticmethod(lambda: None)
    """Called before its loss is raised; raises something else if it is not the peer's fault."""

    def __init__(self, hello: Any, codec: Codec, *, reconnect_window_s: float = 0.0) -> None:
        super().__init__(hello, reconnect_window_s=reconnect_window_s)
        self._codec, self.role = codec, codec.role
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
        """The number of calls that were not answered in time, nor since."""
        return len(self._late)

    @property
    def is_away(self) -> bool:
        """Whether its stream is broken, and may come back."""
        return not (self.is_connected or self.is_gone)

    @property
    def why_gone(self) -> str:
        """The reason why the peer left, without words of its own: they may contain secrets."""
        was_interrupted = self._fault == INTERRUPTED
        return f"the {self.role.name} {'was interrupted' if was_interrupted else 'is lost'}"

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
            left_s = min(deadline, gone_at) - time.monotonic()
            if self._early is None:
                message = self._receive(next_look_s(left_s if left_s > 0.0 else 0.0))
            else:
                message = self._take_early()
            if message is None:
                self._check_loss(gone_at)
                if time.monotonic() >= deadline:
                    more = 0.0 if more_s is None else more_s()
                    if not more:
                        self._give_up(seq, timeout_s)
                    deadline += more
            elif type(message) is Repeated:
                if message.seq < seq:
                    return None
                del self._waiting[seq]
                return message.content
            elif message.HasField("fault") and self._fault == INTERRUPTED:
                raise self._loss()
            elif message.seq == seq or message.HasField("fault"):
                return self._codec.decode(message, self._waiting.pop(seq))
            elif message.seq < seq:
                return None
            else:
                self._early = message  # for its own call
                del self._waiting[seq]
                self._show_what_waits()
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
        """A descriptor that is readable when an answer has begun to come, or the stream broke."""
        with self._lock:
            return (self._watched().fileno(),)

    def is_ready(self) -> bool:
        """Whether that has happened already."""
        with self._lock:
            return self._watched().is_readable()

    def _take_early(self) -> Any:
        early, self._early = self._early, None
        self._show_what_waits()
        return early

    def _ring_if_held(self, wakeup: Wakeup) -> None:
        super()._ring_if_held(wakeup)
        if self._early is not None:
            wakeup.ring()

    def _loss(self) -> ReglueError:
        """The error of a peer that is gone, with its own last words if there are any."""
        if self._fault in (None, INTERRUPTED):
            self.check_blame()
        if self._fault == INTERRUPTED:
            return self._codec.lost(self.why_gone)
        why = self._why_lost if self._fault is None else f"; it said: {self._fault}"
        return self._codec.lost(f"the {self.role.name}'s connection is gone{why}")

    def _check_loss(self, gone_at: float) -> None:
        """Raise the peer's loss once it is time, or it is replaced."""
        if self._broken_at is not None and self.is_replaced():
            self.give_up()
            gone_at = self._gone_at()
        # It has more time now if this process did not run.
        if time.monotonic() >= max(gone_at, self._gone_at()):
            with self._lock:
                if self._stream is None:
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

    def _resume(self, stream: Stream) -> None:
        for _, message in self._unheard:
            stream.send(message)
        if self._is_closed:
            stream.end()

    def _repeated(self, content: bytes) -> Repeated | None:
        seq = self._heard + 1
        head = numbered(seq)
        if (call := self._waiting.get(seq)) is None or not content.startswith(head):
            return None
        answer = self._codec.decode_repeated(content, len(head), call)
        return None if answer is None else Repeated(seq, answer)

    def _is_wanted(self, message: Any) -> bool:
        """Whether it answers a call for the first time, or is a fault, which comes unasked.

        Repeats are a few. A peer that sends more floods us: it is lost.
        """
        if type(message) is not Repeated and message.HasField("fault"):
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
            self._notify()
        return False

    def _post(self, message: bytes) -> None:
        """Send a message. The caller holds the lock."""
        if self._stream is not None:
            self._stream.send(message)
        self._sent += 1  # what follows is done while the peer works
        self._unheard.append((self._sent, message))

    def _say_farewell(self, reason: str) -> None:
        self._post(self._codec.encode(self._sent + 1, Farewell(reason), UNLIMITED))

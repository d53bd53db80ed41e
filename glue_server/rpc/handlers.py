"""Threads for calls: unknown callers share a few, and the sessions of each role have their own.

grpc looks up the handler of a call before it takes a thread, and knows the metadata then: a stream
gets a thread of its role only with a ticket. Handlers parse messages themselves, since grpc
never lets go of a call whose message it could not parse.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeAlias

from google.protobuf.message import DecodeError, Message

from glue_server.rpc.admission import Denied
from reglue.net.grpc_settings import grpc

log = logging.getLogger("reglue")

MESSAGE_S = 3.0
"""Seconds that the message of a unary call may take to come."""

_CALLS = 512  # threads for unknown callers
_SESSIONS = 512  # threads for the streams of one role
_STREAMS = 4  # of one session at a time: broken ones may not have ended yet
_PRESENT = 64  # unary calls of one address at a time
_READ = 3  # of those whose message is read at the same time
_TURN_S = 0.1  # after which a call whose small message has not come makes way for the next one
_REQUEST_BYTES = 65_536
_LARGE_BYTES = 393_216  # a part of an archive, with what goes with it
_LOG_S = 60.0
_CAUSES = 256
_OURS = "our own failure: it is in the host's log"


@dataclass(frozen=True, slots=True)
class Caller:
    """The client of a call."""

    address: str  # as gRPC writes it, without its port
    certified: str = ""  # the common name in the certificate that it showed; empty: it showed none

    @classmethod
    def of(cls, context: grpc.ServicerContext) -> Self:
        """The one of a call."""
        names: Any = context.auth_context().get("x509_common_name", [b""])
        return cls(caller_of(context), names[0].decode(errors="replace"))


Answer: TypeAlias = Callable[[bytes, Caller], Message]
"""Answers the message of a unary call, and gets the caller too.

Raises Denied, and DecodeError for what it cannot read.
"""


class Sessions(Protocol):
    """The sessions of one role."""

    def check(self, session: str) -> None:
        """Raise Denied for a stream without a ticket."""

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        """The outgoing messages of one stream of a session. Raises Denied."""


class Handlers(grpc.GenericRpcHandler):
    """Finds handlers, by full method name, for a server; owns their threads.

    Of the unary calls, those in `large` bring more bytes, and have more time for them.
    """

    def __init__(
        self,
        unary: Mapping[str, Answer],
        streams: Mapping[str, Sessions],
        large: Mapping[str, Answer],
    ) -> None:
        self.threads = ThreadPoolExecutor(_CALLS, thread_name_prefix="reglue-call")
        self._streams = {name: _Streams(name, sessions) for name, sessions in streams.items()}
        self._noise = Noise()
        small, whole = _Requests(_REQUEST_BYTES, _TURN_S), _Requests(_LARGE_BYTES, MESSAGE_S)
        read_by = {**dict.fromkeys(unary, small), **dict.fromkeys(large, whole)}
        self._unary: dict[str, Any] = {
            name: grpc.stream_unary_rpc_method_handler(
                _InPool(self.threads, _Unary(read_by[name], answer, self._noise)),
                response_serializer=_serialize,
            )
            for name, answer in {**unary, **large}.items()
        }

    def service(self, details: grpc.HandlerCallDetails) -> Any | None:
        """The handler of a call; None if there is no such method."""
        if details.method in self._unary:
            return self._unary[details.method]
        if (streams := self._streams.get(details.method)) is None:
            asked = repr(details.method[:200])
            self._noise.log(
                f"a caller that speaks another protocol asked for {asked}", cause="protocol"
            )
            return None
        session = str(dict(details.invocation_metadata).get("reglue-session", ""))
        try:
            streams.check(session)
        except Denied as denied:
            refused = _InPool(self.threads, partial(_refuse, denied))
            return grpc.stream_stream_rpc_method_handler(refused)
        return streams.handler

    def close(self, *, wait: bool) -> None:
        """Let the threads go; `wait` for them to end."""
        for pool in (self.threads, *(each.threads for each in self._streams.values())):
            pool.shutdown(wait=wait, cancel_futures=True)


class _Streams:
    """The streams of one role, and their threads."""

    def __init__(self, method: str, sessions: Sessions) -> None:
        role = method.split("/")[1].rpartition(".")[2]
        self.threads = ThreadPoolExecutor(_SESSIONS, thread_name_prefix=f"reglue-{role}")
        self.handler: Any = grpc.stream_stream_rpc_method_handler(
            _InPool(self.threads, self._carry), response_serializer=_serialize
        )
        self._sessions = sessions
        self._open: Counter[str] = Counter()  # streams, by session
        self._lock = threading.Lock()

    def check(self, session: str) -> None:
        """Raise Denied for a stream that is not to have a thread."""
        self._sessions.check(session)
        with self._lock:
            if self._open.total() >= _SESSIONS or self._open[session] >= _STREAMS:
                words = "too many streams are open; try again later"
                raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words)

    def _carry(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
        session = str(dict(context.invocation_metadata()).get("reglue-session", ""))
        with self._lock:
            self._open[session] += 1
        try:
            with _aborting(context):
                yield from self._sessions.carry(session, messages, context)
        finally:
            with self._lock:
                self._open -= Counter([session])  # drops those at 0


class _Unary:
    """Reads the one message of a call, and answers it."""

    def __init__(self, requests: _Requests, answer: Answer, noise: Noise) -> None:
        self._requests = requests
        self._answer = answer
        self._noise = noise

    def __call__(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> Message:
        with _aborting(context):
            try:
                return self._answer(self._requests.take(messages, context), Caller.of(context))
            except DecodeError as error:
                caller = caller_of(context)
                self._noise.log(f"a call from {caller} could not be read", cause="unreadable")
                why = f"unreadable: {error}"
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, why) from error
        raise AssertionError("abort raises")


class _Requests:
    """Reads the messages of unary calls, a few of each address at a time.

    So calls without a message, and large messages, take neither threads nor memory from others: a
    call whose message has not come after `turn_s` seconds makes way if others wait.
    """

    def __init__(self, most_bytes: int, turn_s: float) -> None:
        self._most_bytes, self._turn_s = most_bytes, turn_s
        self._changed = threading.Condition()
        self._present: Counter[str] = Counter()  # calls, by address
        self._reading: dict[str, deque[_Reading]] = {}

    def take(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """The call's message. Raises Denied, and grpc's own error for a call that has ended."""
        with self._turn(caller_of(context), context):
            message = next(messages, None)
        if message is None:
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "got no message, wanted one")
        if len(message) > self._most_bytes:
            raise Denied(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"got {len(message)} bytes, wanted at most {self._most_bytes}",
            )
        return message

    @contextlib.contextmanager
    def _turn(self, address: str, context: grpc.ServicerContext) -> Iterator[None]:
        with self._changed:
            if self._present[address] >= _PRESENT:
                words = f"too many calls at once from {address}; try again later"
                raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, words)
            self._present[address] += 1
            reading = self._wait(address)
            mine = _Reading(context, time.monotonic())
            reading.append(mine)
        timer = threading.Timer(MESSAGE_S, context.cancel)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._changed:
                with contextlib.suppress(ValueError):  # it has made way
                    reading.remove(mine)
                self._present -= Counter([address])
                if not self._present[address]:
                    self._reading.pop(address, None)
                self._changed.notify_all()

    def _wait(self, address: str) -> deque[_Reading]:
        """Wait for a turn, the lock being held; the oldest makes way."""
        reading = self._reading.setdefault(address, deque())
        while len(reading) >= _READ:
            left_s = reading[0].since + self._turn_s - time.monotonic()
            if left_s <= 0:
                reading.popleft().context.cancel()
            else:
                self._changed.wait(left_s)
        return reading


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A call whose message is being read."""

    context: grpc.ServicerContext
    since: float  # monotonic seconds


class Noise:
    """Logs what strangers do wrong, one line a minute for each cause."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}  # by cause

    def log(self, what: str, *, cause: str = "", **whose: str) -> None:
        """Log it, or count it; `whose` are fields of the log's record.

        Strangers may make up causes: many are taken for one.
        """
        now = time.monotonic()
        with self._lock:
            if len(self._lines) >= _CAUSES:
                old = [each for each, line in self._lines.items() if line.silent_until <= now]
                for each in old:
                    del self._lines[each]
            if len(self._lines) >= _CAUSES and cause not in self._lines:
                cause = ""
            line = self._lines.setdefault(cause, _Line())
            line.count += 1
            if now < line.silent_until:
                return
            count, line.count = line.count, 0
            line.silent_until = now + _LOG_S
        log.warning("%s (%d since the last such line)", what, count, extra=whose)


@dataclass(slots=True)
class _Line:
    """Messages of one cause."""

    count: int = 0  # not logged yet
    silent_until: float = 0.0  # monotonic seconds


@dataclass(frozen=True)
class _InPool:
    """A handler that grpc runs in a pool of its own."""

    experimental_thread_pool: ThreadPoolExecutor  # the name that grpc looks for
    behavior: Callable[[Iterator[bytes], grpc.ServicerContext], Any]

    def __call__(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> Any:
        return self.behavior(messages, context)


@contextlib.contextmanager
def _aborting(context: grpc.ServicerContext) -> Iterator[None]:
    """End a call with the status of what its lines raise; our own failures are for our log."""
    try:
        yield
    except Denied as denied:
        context.abort(denied.code, denied.why)
    except grpc.RpcError:  # the call has ended, or the peer's stream broke
        raise
    except Exception:  # grpc would tell the caller its words
        log.exception("our own failure")
        context.abort(grpc.StatusCode.INTERNAL, _OURS)


def _refuse(denied: Denied, _: Iterator[bytes], context: grpc.ServicerContext) -> None:
    context.abort(denied.code, denied.why)


def _serialize(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


def caller_of(context: grpc.ServicerContext) -> str:
    """The caller's, without its port."""
    return str(context.peer()).rpartition(":")[0]

"""Sessions of agents that wait for a run, and their streams, which are carried to it then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError

from glue_server.rpc.admission import Denied, Ticket
from glue_server.rpc.gateways.run_link import RunLink
from glue_server.rpc.services import HELLO_S
from reglue.net.grpc_settings import grpc
from reglue.net.lobby import hello_proof
from reglue.v1 import agent_pb2, lobby_pb2, session_pb2
from reglue.wire.roles import AGENT

_EARLY_BYTES = 65_536  # of what an agent sends before a run has called it
_LAST_SEQ = 2**64 - 1  # behind every call, whatever number a run has reached

End: TypeAlias = Denied | str
"""A refusal, or the text of a farewell."""

Step: TypeAlias = RunLink | End | bytes | None
"""The next event: a run, the end, a message of an agent that should wait; None: it is gone."""


class WaitingStream:
    """One stream of an agent, as its handler's thread waits for what comes next."""

    def __init__(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> None:
        self._steps: SimpleQueue[Step] = SimpleQueue()
        self._messages = messages
        self._second: Future[bytes | None] = Future()  # the message behind the hello
        self._end: End | None = None
        self._carried: Any = None  # its stream to the run
        self.is_carried = False
        if not context.add_callback(lambda: self._steps.put(None)):
            self._steps.put(None)
        self._context = context
        threading.Thread(target=self._read, name="reglue-reader", daemon=True).start()

    def hello(self) -> agent_pb2.AgentReply:
        """The agent's first message. Raises Denied."""
        try:
            first = self._steps.get(timeout=HELLO_S)
        except Empty:
            words = f"no hello within {HELLO_S:g} s"
            raise Denied(grpc.StatusCode.DEADLINE_EXCEEDED, words) from None
        if not isinstance(first, bytes):
            raise Denied(grpc.StatusCode.CANCELLED, "the stream ended before its hello")
        reply = early(first)
        if not reply.HasField("hello"):
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
        return reply

    def next(self, timeout_s: float | None = None, *, otherwise: Step = None) -> Step:
        """The next step, at the latest when the stream ends; `otherwise` after a time."""
        try:
            return self._steps.get(timeout=timeout_s)
        except Empty:
            return otherwise

    @property
    def has_end(self) -> bool:
        """Whether it was told how to end."""
        return self._end is not None

    def go_to(self, link: RunLink) -> None:
        """Let the handler carry it there next."""
        self._steps.put(link)

    def end(self, how: End) -> None:
        """Let the handler end it, also in the middle of a run."""
        self._end = how
        self._steps.put(how)
        if self._carried is not None:
            self._carried.cancel()

    def carry(self, link: RunLink, ticket: lobby_pb2.Ticket, hello: Any) -> Iterator[bytes]:
        """The run's messages. Raises Denied, grpc.RpcError."""
        own = agent_pb2.AgentReply()
        own.CopyFrom(hello)
        own.hello.session = ticket.session
        own.hello.proof = hello_proof(ticket.secret, ticket.session, hello.hello.answered)
        self.is_carried = True
        messages = self._onward(own.SerializeToString())
        self._carried = link.open(AGENT.method, ticket.session, messages, self._context)
        if self.has_end:  # told before there was something to cancel
            self._carried.cancel()
        yield from self._carried

    def _read(self) -> None:
        """Take in the hello and one message behind it: an agent that waits sends nothing more."""
        try:
            self._steps.put(next(self._messages))
            second = next(self._messages)
        except (StopIteration, grpc.RpcError):
            self._second.set_result(None)
            if not self.is_carried:
                self._steps.put(None)
            return
        self._second.set_result(second)
        if not self.is_carried:
            self._steps.put(second)

    def _onward(self, hello: bytes) -> Iterator[bytes]:
        yield hello
        second = self._second.result()  # comes, or ends with the stream
        if second is not None:
            yield second
            yield from self._messages


@dataclass(slots=True, eq=False)
class WaitingSession:
    """The session of an entry's agent."""

    entry: str
    label: str  # what the agent's people call it
    ticket: Ticket
    certified: str  # the name in the certificate that its agent showed
    gone_at: float  # monotonic seconds: it is given up then, unless a stream comes before
    stream: WaitingStream | None = None
    is_new: bool = True  # no stream has come yet
    of_run: lobby_pb2.Ticket | None = None  # to its session in the run's process, once it was asked
    verdict: End | None = None  # how its streams end from now on
    asking: threading.Lock = field(default_factory=threading.Lock)

    def end(self, verdict: End) -> None:
        """Refuse its streams from now on, or give them a farewell."""
        self.verdict = verdict
        if self.stream is not None:
            self.stream.end(verdict)

    @property
    def will_hear(self) -> bool:
        """Whether its agent is connected, or about to be. One whose stream broke may join anew."""
        return self.verdict is None and (self.stream is not None or self.is_new)

    @property
    def is_kept(self) -> bool:
        """Whether another ticket would disturb an agent: one that is here, or may come back."""
        return self.verdict is None and (self.stream is not None or self.of_run is not None)


def early(message: bytes) -> agent_pb2.AgentReply:
    """A message of an agent that no run has called. Raises Denied."""
    if len(message) > _EARLY_BYTES:
        words = f"got {len(message)} bytes, wanted at most {_EARLY_BYTES} before the first call"
        raise Denied(grpc.StatusCode.INVALID_ARGUMENT, words)
    try:
        return agent_pb2.AgentReply.FromString(message)
    except DecodeError as error:
        raise Denied(grpc.StatusCode.INVALID_ARGUMENT, f"unreadable: {error}") from error


def farewell(why: str) -> bytes:
    """The last call of a session, whatever number it has reached."""
    said = session_pb2.Farewell(reason=why)
    return agent_pb2.AgentCall(seq=_LAST_SEQ, farewell=said).SerializeToString()

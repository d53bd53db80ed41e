"""One session of an agent over gRPC: join, say hello, answer calls, leave."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, Self

from reglue.agent import Agent
from reglue.calls import Farewell, Hello, Init, Numbered, Refusal
from reglue.errors import (
    BadReply,
    Busy,
    Refused,
    ReglueError,
    SessionLost,
    SpecError,
    Unreachable,
    WrongToken,
    WrongVersion,
)
from reglue.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc
from reglue.player import hello, play
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2, agent_pb2_grpc, lobby_pb2, lobby_pb2_grpc, session_pb2
from reglue.version import PROTOCOL_MAJOR, PROTOCOL_MINOR
from reglue.wire.agent_messages import decode_call, encode_reply

log = logging.getLogger("reglue")

_REFUSALS: dict[grpc.StatusCode, type[ReglueError]] = {
    grpc.StatusCode.UNAUTHENTICATED: WrongToken,
    grpc.StatusCode.FAILED_PRECONDITION: WrongVersion,
    grpc.StatusCode.ALREADY_EXISTS: Busy,
    grpc.StatusCode.INVALID_ARGUMENT: Refused,
}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_FAREWELL_S = 5.0  # how long a faulted agent waits for the glue's last word


def hello_proof(secret: bytes, session: str, answered: int) -> bytes:
    """HMAC-SHA256 that shows that a stream belongs to a ticket (agent.proto, Hello.proof)."""
    text = f"reglue.v1 hello {session} {answered}"
    return hmac.digest(secret, text.encode(), hashlib.sha256)


class Stream(Protocol):
    """What a stream call of grpc is: calls that come in, and a way to end them."""

    def __iter__(self) -> Iterator[agent_pb2.AgentCall]: ...

    def cancel(self) -> bool:
        """End it from this side."""


class Session:
    """The agent's end of one session; a context manager that closes its channel."""

    def __init__(self, address: str, token: str, *, name: str, patience_s: float) -> None:
        self._name = name
        self._ticket = _join(address, token, name, patience_s)
        limit = self._ticket.max_message_bytes or HUB_MESSAGE_BYTES
        self._channel = _channel(self._ticket.address or address, limit)
        self._outbox: SimpleQueue[agent_pb2.AgentReply | None] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._outbox.put(None)
        self._channel.close()

    def play(self, agent: Agent) -> str:
        """Answer calls until the farewell; returns its reason. Raises as `connect`."""
        stub = agent_pb2_grpc.AgentServiceStub(self._channel)
        self._outbox.put(self._hello(hello(agent, self._name)))
        stream = stub.Connect(
            iter(self._outbox.get, None), metadata=[("reglue-session", self._ticket.session)]
        )
        return self._answer(agent, stream)

    def _answer(self, agent: Agent, stream: Stream) -> str:
        for numbered, spec in _calls(stream):
            match numbered.call:
                case Farewell(reason):
                    return reason
                case Refusal(of_seq, _, got, wanted):
                    log.warning("reply %d was refused: got %s, wanted %s", of_seq, got, wanted)
            try:
                reply = play(agent, numbered.call)
                if reply is not None:
                    self._outbox.put(encode_reply(numbered.seq, reply, spec))
            except Exception as error:
                log.exception("the agent failed")  # first: whoever started us reads it now
                self._leave(stream, numbered.seq, error)
                raise
        raise SessionLost("the glue closed the session without a farewell")

    def _leave(self, stream: Stream, seq: int, error: Exception) -> None:
        """Tell the glue what happened and give it a moment to close the session."""
        what = f"{type(error).__name__}: {error}"[:4096]
        self._outbox.put(agent_pb2.AgentReply(seq=seq, fault=session_pb2.Fault(what=what)))
        timer = threading.Timer(_FAREWELL_S, stream.cancel)
        timer.start()
        try:
            for message in stream:
                if message.HasField("farewell"):
                    break
        except grpc.RpcError:
            pass  # the glue is gone as well; the agent's own error says more
        finally:
            timer.cancel()

    def _hello(self, own: Hello) -> agent_pb2.AgentReply:
        return agent_pb2.AgentReply(
            hello=agent_pb2.Hello(
                major=PROTOCOL_MAJOR,
                minor=PROTOCOL_MINOR,
                sdk=own.sdk,
                agent=own.agent,
                max_slots=own.max_slots,
                partial_turns=own.partial_turns,
                adapts=own.adapts,
                episodic=own.episodic,
                session=self._ticket.session,
                proof=hello_proof(self._ticket.secret, self._ticket.session, 0),
                answered=0,
            )
        )


def _calls(stream: Stream) -> Iterator[tuple[Numbered, TaskSpec | None]]:
    """What the glue says, with the spec of the last init. Raises SessionLost, Refused.

    Errors are translated here and nowhere else: an agent may have a gRPC client or
    specs of its own, and what those raise is the agent's.
    """
    spec: TaskSpec | None = None
    try:
        for message in stream:
            numbered = decode_call(message, spec)
            if isinstance(numbered.call, Init):
                spec = numbered.call.spec
            yield numbered, spec
    except grpc.RpcError as error:
        raise _lost(error) from error
    except (BadReply, SpecError) as error:
        raise SessionLost(f"the glue sent what this client cannot read: {error}") from error


def _channel(address: str, max_message_bytes: int) -> grpc.Channel:
    options = channel_options(max_message_bytes)
    if address.rpartition(":")[0] in _LOOPBACK:  # `http_proxy` is not meant for those
        options.append(("grpc.enable_http_proxy", 0))
    return grpc.insecure_channel(address, options)


def _join(address: str, token: str, name: str, patience_s: float) -> lobby_pb2.Ticket:
    request = lobby_pb2.JoinRequest(
        major=PROTOCOL_MAJOR,
        minor=PROTOCOL_MINOR,
        role=lobby_pb2.ROLE_AGENT,
        token=token,
        name=name[:200],
    )
    deadline = time.monotonic() + patience_s
    for pause_s in _backoff():
        # A channel each try: one that failed waits longer than we mean to.
        with _channel(address, HUB_MESSAGE_BYTES) as channel:
            left_s = max(deadline - time.monotonic(), 0.1)
            try:
                ticket: lobby_pb2.Ticket = lobby_pb2_grpc.LobbyServiceStub(channel).Join(
                    request, timeout=min(left_s, 5.0)
                )
                return ticket
            except grpc.RpcError as error:
                if error.code() in _REFUSALS:
                    raise _REFUSALS[error.code()](error.details()) from error
                if time.monotonic() + pause_s > deadline:
                    raise _unreachable(error, address, patience_s) from error
        time.sleep(pause_s)
    raise AssertionError("the backoff never ends")


def _unreachable(error: grpc.RpcError, address: str, patience_s: float) -> ReglueError:
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return Busy(
            f"the glue at {address} had no connection to spare within {patience_s:g} s; "
            "try again later"
        )
    return Unreachable(
        f"no glue answered at {address} within {patience_s:g} s; is it running, "
        "and is the address right?"
    )


def _backoff() -> Iterator[float]:
    pause_s = 0.05
    while True:
        yield pause_s
        pause_s = min(pause_s * 1.6, 5.0)


def _lost(error: grpc.RpcError) -> ReglueError:
    if error.code() in _REFUSALS:
        return _REFUSALS[error.code()](error.details())
    return SessionLost(f"the glue went away: {error.details()}")

"""The session of a partner that asks: a benchmark program, one call at a time."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from reglue.door import backoff, hello_proof, join, lost, open_channel
from reglue.errors import (
    BadReply,
    OutOfDomain,
    ReglueError,
    SessionLost,
    SpecError,
    WrongToken,
)
from reglue.experiment_calls import Answer, ExperimentCall
from reglue.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.invitation import Invitation
from reglue.spec import TaskSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.v1 import experiment_pb2_grpc, lobby_pb2, session_pb2
from reglue.version import PROTOCOL_MAJOR, PROTOCOL_MINOR, sdk
from reglue.wire.experiment_messages import decode_answer, encode_experiment_call

log = logging.getLogger("reglue")

_FAREWELL_S = 5.0  # how long the glue is given to let everybody go


class Asking:
    """Numbers calls and asks each until it is answered, over as many streams as it takes."""

    def __init__(
        self, invitation: Invitation, name: str, *, patience_s: float, timeout_s: float
    ) -> None:
        self._invitation = invitation
        self._name = name
        self._timeout_s = timeout_s
        self._ticket = join(invitation, lobby_pb2.ROLE_EXPERIMENT, name=name, patience_s=patience_s)
        self._answered = 0  # number of the last call whose answer has come
        self._spec: TaskSpec | None = None
        self._stream: _Stream | None = None
        self._is_seated = False  # at the glue, which then is to be told that we leave
        self._over = ""  # why nothing more can be asked

    def ask(self, call: ExperimentCall) -> Answer:
        """What the routine returns; raises what it raises, and SessionLost."""
        if self._over:
            raise SessionLost(self._over)
        seq = self._answered + 1
        message = encode_experiment_call(seq, call, self._spec)
        self._check_size(message.ByteSize())
        try:
            reply = self._exchange(seq, message)
            self._answered = seq
            answer = decode_answer(reply, call, self._spec)
        except (BadReply, SpecError) as error:
            self._over = f"the glue sent what this client cannot read: {error}"
            raise SessionLost(self._over) from error
        if isinstance(answer, TaskSpec):
            self._spec = answer
        return answer

    def leave(self) -> None:
        """Say that no more will be asked, and end the stream; over a new one if it broke."""
        farewell = session_pb2.Farewell(reason="the program has left")
        if self._is_seated:
            with contextlib.suppress(grpc.RpcError):
                stream = self._opened()
                stream.send(pb.ExperimentCall(farewell=farewell))
                stream.wait(_FAREWELL_S)
        self._is_seated = False
        self._close()

    def _opened(self) -> _Stream:
        """The stream, or a new one."""
        if self._stream is None:
            self._stream = _Stream(self._where(), self._ticket, self._hello())
            self._is_seated = True
        return self._stream

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _check_size(self, size: int) -> None:
        most = self._ticket.max_message_bytes or HUB_MESSAGE_BYTES
        if size > most:
            raise OutOfDomain(got=f"a call of {size} bytes", wanted=f"at most {most}")

    def _exchange(self, seq: int, message: pb.ExperimentCall) -> pb.ExperimentReply:
        """As `_send`; one that is broken off ends the session, as its answer is still to come."""
        try:
            return self._send(seq, message)
        except ReglueError as error:
            self._over = str(error)
            raise
        except BaseException:
            self._over = "the session is over: a routine was broken off, and its answer not heard"
            raise

    def _send(self, seq: int, message: pb.ExperimentCall) -> pb.ExperimentReply:
        """Send until an answer comes. Raises SessionLost, Refused."""
        deadline = time.monotonic() + self._timeout_s
        broken_at: float | None = None
        pauses = backoff()
        while True:
            try:
                stream = self._opened()
                stream.send(message)
                reply = stream.receive(seq, deadline)
                if reply.HasField("farewell"):
                    self._is_seated = False
                    self._over = f"the glue has ended the session: {reply.farewell.reason}"
                    raise SessionLost(self._over)
                return reply
            except WrongToken as error:  # of the ticket: the run's process has ended
                self._is_seated = False
                raise SessionLost("the glue does not know this session any more") from error
            except SessionLost as error:
                self._close()
                now = time.monotonic()
                broken_at = broken_at or now
                pause_s = next(pauses)
                until = min(deadline, broken_at + self._ticket.grace_ms / 1000)
                if self._over or now + pause_s > until:
                    raise
                log.warning("the connection broke, coming back: %s", error)
                time.sleep(pause_s)

    def _where(self) -> Invitation:
        """Where the ticket says that the stream is opened."""
        return replace(
            self._invitation,
            address=self._ticket.address or self._invitation.address,
            tls_name=self._ticket.tls_name or self._invitation.tls_name,
        )

    def _hello(self) -> pb.ExperimentCall:
        ticket, answered = self._ticket, self._answered
        return pb.ExperimentCall(
            hello=pb.ExperimentHello(
                major=PROTOCOL_MAJOR,
                minor=PROTOCOL_MINOR,
                sdk=sdk(),
                experiment=self._name,
                session=ticket.session,
                proof=hello_proof(ticket.secret, ticket.session, answered),
                answered=answered,
            )
        )


class _Stream:
    """One stream; a thread of its own takes in what comes, so that waiting can end."""

    def __init__(self, where: Invitation, ticket: lobby_pb2.Ticket, hello: Any) -> None:
        self._outbox: SimpleQueue[Any | None] = SimpleQueue()
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox.put(hello)
        self._closing = ExitStack()
        limit = ticket.max_message_bytes or HUB_MESSAGE_BYTES
        channel = self._closing.enter_context(open_channel(where, limit))
        stub = experiment_pb2_grpc.ExperimentServiceStub(channel)
        self._stream = stub.Connect(
            iter(self._outbox.get, None), metadata=[("reglue-session", ticket.session)]
        )
        self._reader = threading.Thread(target=self._read, name="reglue-experiment", daemon=True)
        self._reader.start()

    def send(self, message: pb.ExperimentCall) -> None:
        """Queue a call."""
        self._outbox.put(message)

    def receive(self, seq: int, deadline: float) -> pb.ExperimentReply:
        """The reply to call `seq`, or a farewell. Raises SessionLost, Refused."""
        while True:
            try:
                reply = self._inbox.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise SessionLost("the glue did not answer in time") from None
            if isinstance(reply, grpc.RpcError):
                raise lost(reply) from reply
            if reply is None:
                raise SessionLost("the glue closed the session without a farewell")
            if reply.seq == seq or reply.HasField("farewell"):
                message: pb.ExperimentReply = reply
                return message

    def wait(self, timeout_s: float) -> None:
        """Until the glue has ended the stream."""
        self._reader.join(timeout_s)

    def close(self) -> None:
        """End it from this side."""
        self._outbox.put(None)
        self._closing.close()
        self._reader.join()

    def _read(self) -> None:
        try:
            for reply in self._stream:
                self._inbox.put(reply)
            self._inbox.put(None)
        except grpc.RpcError as error:
            self._inbox.put(error)

"""An agent at the other end of a gRPC stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import NoReturn

from reglue.calls import Call, Farewell, Hello, Init, Numbered, Refusal, Reply, Turn
from reglue.errors import AgentDisconnected, AgentFault, AgentTimeout, BadReply, UsageError
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2
from reglue.wire.agent_messages import decode_reply, encode_call


class StreamPort:
    """The driver's end of one session. The stream's own threads fill and drain it."""

    def __init__(self, hello: Hello, max_message_bytes: int) -> None:
        self.hello = hello
        self._max_message_bytes = max_message_bytes
        self._inbox: SimpleQueue[agent_pb2.AgentReply | None] = SimpleQueue()
        self._outbox: SimpleQueue[agent_pb2.AgentCall | None] = SimpleQueue()
        self._seq = 0
        self._rows = 0  # that the last turn asked for
        self._spec: TaskSpec | None = None
        self._gone = False

    # What the driver calls.

    def send(self, call: Call) -> None:
        """Number the call and queue it. Raises AgentDisconnected, UsageError (too large)."""
        if self._gone:
            self._disconnected()
        match call:
            case Init(spec):
                self._check_size(spec)
                self._spec = spec
            case Turn():
                self._rows = len(call.steps) + len(call.starts)
        self._seq += 1
        self._post(call)

    def receive(self, timeout_s: float) -> Reply:
        """The answer to the last call; late answers to earlier ones are dropped."""
        assert self._spec is not None, "init comes first"
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                message = self._inbox.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise AgentTimeout(
                    f"the agent did not answer within {timeout_s:g} s; "
                    "--step-timeout and --first-step-timeout set how long it may take"
                ) from None
            if message is None:
                self._gone = True
                self._disconnected()
            if message.HasField("fault"):
                raise AgentFault(message.fault.what)
            if message.seq == self._seq:
                return decode_reply(message, self._spec, self._rows)

    def refuse(self, refused: BadReply) -> None:
        """Queue a refusal of the last reply."""
        of_seq, self._seq = self._seq, self._seq + 1
        self._post(Refusal(of_seq, refused.code, refused.got, refused.wanted))

    def close(self, reason: str) -> None:
        """Queue the farewell, and end the stream behind it."""
        self._seq += 1
        self._post(Farewell(reason))
        self._outbox.put(None)

    # What the stream's threads call.

    def calls(self) -> Iterator[agent_pb2.AgentCall]:
        """What goes out, until the session ends."""
        return iter(self._outbox.get, None)

    def arrived(self, message: agent_pb2.AgentReply) -> None:
        """A reply has come in."""
        self._inbox.put(message)

    def broke(self) -> None:
        """Nothing more will come in."""
        self._inbox.put(None)
        self._outbox.put(None)

    def _post(self, call: Call) -> None:
        numbered = Numbered(self._seq, call)
        self._outbox.put(encode_call(numbered, self._spec))

    def _check_size(self, spec: TaskSpec) -> None:
        """Refuse a task whose fullest turn or answer would not fit into a message."""
        rows = {"a turn": 2 * spec.slots, "an answer": spec.slots}
        tensors = {"a turn": spec.observations, "an answer": spec.actions}
        for what, count in rows.items():
            size = count * (64 + sum(tensor.row_bytes for tensor in tensors[what]))
            if size > self._max_message_bytes:
                raise UsageError(
                    f"{what} of {spec.slots} slots takes up to {size} bytes, the hub's limit is "
                    f"{self._max_message_bytes}: use fewer slots"
                )

    def _disconnected(self) -> NoReturn:
        raise AgentDisconnected("the agent's connection is gone")

"""A connection to a dm_env_rpc server, and the deadline of its answers."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

from reglue.bridges.dm_env_rpc.tensor_messages import grpc, pb
from reglue.bridges.server_worlds import PAUSES, Wait
from reglue.errors import EnvironmentFault, EnvironmentLost, EnvironmentTimeout

_LOOK_S = 0.1  # between two checks of the deadline


class WorldStream:
    """A connection to the server, which is joined to at most one world."""

    def __init__(
        self, open_stream: Callable[..., Any], watch: AnswerWatch, *, is_patient: bool
    ) -> None:
        """`is_patient`: if the connection breaks before the first answer, connect again until that
        answer is late; then `receive` raises EnvironmentLost.
        """
        self.world = ""  # its name; empty: none was created
        self.has_failed = False  # the world is to be replaced
        self.owed = 0  # answers that are still to be received
        self._watch = watch
        self._is_patient = is_patient  # until the first answer
        self._open_stream = open_stream
        self._unanswered: list[Any] = []  # requests before the first answer
        self._open()

    def send(self, requests: Sequence[Any], wait: Wait) -> None:
        """Send requests: messages of dm_env_rpc."""
        for request in requests:
            self.owed += 1
            message = pb.EnvironmentRequest(**{kind_of(request): request})
            self._requests.put(message)
            if self._is_patient:
                self._unanswered.append(message)

    def receive(self, requests: Sequence[Any], wait: Wait) -> list[Any]:
        """The answers to `requests`, which were sent. Raises EnvironmentFault."""
        answers, refusal = [], None
        for request in requests:
            answer, kind = self._next(self._watch), kind_of(request)
            self.owed -= 1
            got = answer.WhichOneof("payload")
            if got == "error":
                refusal = refusal or f"it refused {kind}: {answer.error.message or answer.error}"
            elif got != kind:
                self.owed += 1  # which request the next answer belongs to is unknown
                raise EnvironmentFault(got=f"{got} as the answer", wanted=kind)
            else:
                answers.append(getattr(answer, kind))
        if refusal is not None:
            raise EnvironmentFault(refusal)
        return answers

    def _next(self, watch: AnswerWatch) -> Any:
        pauses = PAUSES.pauses()
        watch.stream = self
        try:
            while (answer := self._received(watch)) is None:
                time.sleep(min(next(pauses), watch.left_s))
                self.close()
                self._open()
        finally:
            watch.stream = None
        self._is_patient = False
        self._unanswered.clear()
        return answer

    def _received(self, watch: AnswerWatch) -> Any:
        """The next answer; None if the connection broke before the first one: to be retried."""
        try:
            return next(self._answers)
        except StopIteration:
            raise EnvironmentFault("it ended the connection") from None
        except grpc.RpcError as error:
            if watch.is_late:
                silence = f"no answer within {watch.timeout_s:g} s"
                if self._is_patient:
                    raise EnvironmentLost(f"{silence} on a new connection") from None
                raise EnvironmentTimeout(silence) from None
            if self._is_patient and error.code() is grpc.StatusCode.UNAVAILABLE:
                return None
            what = f"{error.code().name}: {error.details()}"
            raise EnvironmentFault(f"the connection is lost: {what}") from None

    def _open(self) -> None:
        """Open the stream, and send all requests that no answer followed."""
        self._requests: SimpleQueue[Any] = SimpleQueue()
        for message in self._unanswered:
            self._requests.put(message)
        requests: Iterator[Any] = iter(self._requests.get, None)
        self._answers = self._open_stream(requests, wait_for_ready=self._is_patient)

    def cancel(self) -> None:
        """End the wait for an answer."""
        self._answers.cancel()

    def close(self) -> None:
        """End the connection."""
        self._requests.put(None)  # ends gRPC's thread, which waits for a request
        self.cancel()


class AnswerWatch:
    """Cancels the stream whose answer is awaited when the time is up, from a thread of its own.

    gRPC has no deadline for a single message of a stream.
    """

    def __init__(self) -> None:
        self.timeout_s = 0.0
        self.stream: WorldStream | None = None  # whose answer is awaited
        self._until = math.inf
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look, name="dm_env_rpc watch", daemon=True)
        self._thread.start()

    @property
    def is_late(self) -> bool:
        """Whether time is up."""
        return time.monotonic() > self._until

    @property
    def left_s(self) -> float:
        """Seconds until time is up, 0 or more."""
        return max(0.0, self._until - time.monotonic())

    def begin(self, timeout_s: float) -> None:
        """From now on, all answers must arrive within `timeout_s` seconds."""
        self.timeout_s, self._until = timeout_s, time.monotonic() + timeout_s

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._closed.wait(_LOOK_S):
            stream = self.stream
            if stream is not None and self.is_late:
                stream.cancel()


_KINDS: dict[str, str] = {
    field.message_type.name: field.name for field in pb.EnvironmentRequest.DESCRIPTOR.fields
}


def kind_of(request: Any) -> str:
    """The name of the field that holds a request, and of the one that holds its answer."""
    return _KINDS[type(request).__name__]

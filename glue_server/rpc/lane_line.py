"""A lane as the driver's thread uses it: it reads and writes the socket itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from google.protobuf.message import DecodeError

from glue_server.rpc.line import LineEnded
from reglue.lane import Lane, LaneEnded

_SEND_S = 0.005  # how long the driver waits for a partner that reads slowly
_LAST_S = 2.0  # how long what is left to send may take once the line has ended


class LaneLine:
    """What goes out over a lane, and what comes in.

    Until `begin` messages are kept. What a partner does not take in at once is sent by a
    thread that is started then, so that the driver never hangs on a partner's reading.
    """

    def __init__(self, lane: Lane, kind: Any) -> None:
        """`kind` is the class of the messages that come in."""
        self._lane = lane
        self._kind = kind
        self._sending, self._reading = threading.Lock(), threading.Lock()
        self._kept: list[bytes] | None = []
        self._pusher: _Pusher | None = None
        self._has_ended = False

    def begin(self, first: bytes) -> None:
        """Send `first`, then what was kept."""
        with self._sending:
            kept, self._kept = self._kept or [], None
            for message in (first, *kept):
                self._send(message)
            if self._has_ended:
                self._finish()

    def put(self, message: Any) -> None:
        """Send a message."""
        with self._sending:
            if self._has_ended:
                return
            frame = message.SerializeToString()
            if self._kept is None:
                self._send(frame)
            else:
                self._kept.append(frame)

    def end(self) -> None:
        """End the lane behind what was put; whoever reads it sees it ended."""
        with self._sending:
            if self._has_ended:
                return
            self._has_ended = True
            if self._kept is None:
                self._finish()

    def take(self, timeout_s: float) -> Any | None:
        """The next message; None if none came in time. Raises LineEnded."""
        with self._reading:
            try:
                if self._has_ended:
                    raise LaneEnded("it was ended here")
                message = self._lane.receive(timeout_s)
                return None if message is None else self._kind.FromString(message)
            except (LaneEnded, DecodeError) as error:
                raise LineEnded(str(error)) from error

    def fileno(self) -> int:
        """Readable when something has come."""
        return self._lane.fileno()

    def _send(self, message: bytes) -> None:
        if self._pusher is not None:
            self._pusher.put(message)
            return
        try:
            rest = self._lane.send(message, _SEND_S)
        except LaneEnded:
            return  # who reads sees it too
        if rest:
            self._pusher = _Pusher(self._lane, rest)

    def _finish(self) -> None:
        if self._pusher is not None:
            self._pusher.finish(self._close)
        else:
            self._close()

    def _close(self) -> None:
        self._lane.shut()  # wakes who reads
        with self._reading:
            self._lane.close()


class _Pusher:
    """Sends what did not fit into the socket, and from then on everything."""

    def __init__(self, lane: Lane, rest: memoryview) -> None:
        self._lane = lane
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._push, args=(rest,), name="reglue-pusher", daemon=True
        )
        self._thread.start()

    def put(self, message: bytes) -> None:
        self._queue.put(message)

    def finish(self, then: Callable[[], None]) -> None:
        """Have what is left sent, for a moment, and `then` called; waits for neither."""
        self._then = then
        self._last = threading.Timer(_LAST_S, self._lane.shut)  # wakes a send that hangs
        self._last.daemon = True
        self._last.start()
        self._queue.put(None)

    def _push(self, rest: memoryview) -> None:
        messages = iter(self._queue.get, None)
        try:
            self._lane.send_rest(rest)
            for message in messages:
                self._lane.send(message)
        except LaneEnded:
            for _ in messages:  # nobody takes them any more
                pass
        self._last.cancel()
        self._then()

"""The parent's end of a submission's process."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from glue_server.processes.channel import ChannelProcess
from glue_server.processes.frames import read_frame, write_frame
from reglue.net.join_string import JoinString, join_string
from reglue_competition.runs.told import Told


class SubmissionProcess(ChannelProcess):
    """Starts at once. A thread reads what it says; `news` returns that.

    `join_string` is empty until it listens: the first news. The gateway carries its agent there.
    """

    public_address = ""

    def __init__(
        self,
        told: Told,
        sign: Callable[[bytes], bytes],
        *,
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        """`sign` signs transcripts. A thread calls `on_news` for news other than progress."""
        super().__init__("reglue_competition.runs.submission_process")
        self._sign = sign
        self._on_news = on_news
        self.join_string = JoinString("")
        self._frames: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._told = replace(told, token=secrets.token_hex(24))
        self._reader = threading.Thread(target=self._read, name="reglue-submission", daemon=True)
        self._reader.start()

    def news(self) -> Iterator[dict[str, Any]]:
        """What it has said since the last time."""
        with contextlib.suppress(Empty):
            while True:
                yield self._frames.get_nowait()

    def is_silent(self) -> bool:
        """Whether it has ended, and nothing that it said is left to be read."""
        return not self._reader.is_alive() and self._frames.empty()

    def cancel(self, why: str) -> None:
        """Have it end, as one that nobody wants any more."""
        self._tell({"cancel": why})

    def let_go(self, farewell: str) -> None:
        """After its `ended` was taken down: it tells the agent, and leaves.

        Without words it leaves, and the agent waits to be given a place again.
        """
        self._tell({"farewell": farewell})

    def end(self, within_s: float) -> None:
        """Wait until it exits; kill it after that time."""
        super().end(within_s)
        self.leave()
        self._reader.join()

    def _tell(self, head: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it has just ended
            write_frame(self.channel, head)

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            write_frame(self.channel, self._told.to_json())
            while True:
                head, _ = read_frame(self.channel)
                if "sign" in head:
                    signature = self._sign(bytes.fromhex(head["sign"]))
                    self._tell({"signature": signature.hex()})
                    continue
                if "join_string" in head:
                    self.join_string = join_string(head["join_string"])
                self._frames.put(head)
                if "progress" not in head:
                    self._on_news()

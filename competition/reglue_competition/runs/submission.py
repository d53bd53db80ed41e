"""A submission's process as the server sees it: its messages, its folders and the process."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeAlias

from glue_server.processes.child import Child
from glue_server.processes.message_codec import Codec
from glue_server.processes.sandboxes.launch import Used
from reglue.net.join_string import JoinString, join_string


@dataclass(frozen=True, slots=True)
class SubmittedBenchmark:
    """One of a submission's benchmarks."""

    settings: Mapping[str, Any] = field(repr=False)  # of Settings, with a secret
    plan: str  # JSON, as of Plan.to_json; empty: its process makes it of the settings


@dataclass(frozen=True, slots=True)
class SubmittedImage:
    """The image of a submission's agent, or its project, and what its container may use."""

    digest: str  # of an image, or of a project
    archive: str  # its file
    memory_bytes: int
    tmp_bytes: int
    processors: float
    processes: int
    gpus: str | None
    python: str | None  # the image that plays projects


@dataclass(frozen=True, slots=True)
class SubmissionSettings:
    """The settings of a submission's process: the first message to it."""

    competition: str
    phase: str
    team: str
    submission: str  # its id
    draw: int  # which goals and cells it plays, see Submission
    folder: str  # of its runs
    transcripts: str  # the folder of all submissions'
    public_key: bytes  # of who signs them
    benchmarks: tuple[SubmittedBenchmark, ...]
    reconnect_window_s: float
    connect_timeout_s: float
    token: str = field(default="", repr=False)  # between the gateway and this process
    lost: str = ""  # why its agent does not come back: nothing more is played
    waits: bool = False  # its agent is away since a server was: what is left waits for it
    forgives: bool = False  # the organiser has the rest played after an agent's fault
    image: SubmittedImage | None = None  # None: its agent connects by itself


@dataclass(frozen=True, slots=True)
class Signature:
    """Answers a `Digest`."""

    signature: bytes


@dataclass(frozen=True, slots=True)
class Cancel:
    """The submission is cancelled: the process stops playing, and reports how it ended."""

    why: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """The submission's end is stored: the process may leave.

    Without words the agent waits to be given a place again.
    """

    farewell: str  # to the agent


ToSubmission: TypeAlias = SubmissionSettings | Signature | Cancel | LetGo
TO_SUBMISSION: Codec[ToSubmission] = Codec(ToSubmission)


@dataclass(frozen=True, slots=True)
class Listening:
    """The agent joins there."""

    join_string: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    index: int  # of the benchmark
    done: int
    total: int
    counted_in: str


@dataclass(frozen=True, slots=True)
class Digest:
    """A transcript's, to be signed: the key stays with the server."""

    digest: bytes


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run has ended: a `Run` of the store without the submission."""

    index: int
    benchmark: str
    status: str
    owner: str
    score: float | None
    low: float | None
    high: float | None
    result: str
    transcript_sha256: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The submission's end; `waiting` means that it has not ended: its agent is away, or the engine
    that runs its image. `withdrawn`: its agent failed in the rehearsal.
    """

    status: Literal["finished", "failed", "cancelled", "broken", "waiting", "withdrawn"]
    detail: str = ""
    again: bool = False  # what broke it may not do so next time
    used: Used | None = None  # by its agent's container; None: not measured


FromSubmission: TypeAlias = Listening | Progress | Digest | RunEnded | Ended
_FROM_SUBMISSION: Codec[FromSubmission] = Codec(FromSubmission)

News: TypeAlias = Listening | Progress | RunEnded | Ended | Exception
"""A message of a submission's process; an error where that could not be read."""


class SubmissionProcess(Child[FromSubmission]):
    """Starts at once. A thread receives what it says; `news` returns that.

    `join_string` is empty until it listens: the first news. The gateway carries its agent there.
    """

    public_address = ""

    def __init__(
        self,
        settings: SubmissionSettings,
        sign: Callable[[bytes], bytes],
        *,
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        """`sign` signs transcripts. A thread calls `on_news` for news other than progress."""
        module = "reglue_competition.runs.process.submission_process"
        super().__init__(module, _FROM_SUBMISSION, silence_s=None)
        self._sign = sign
        self._on_news = on_news
        self.join_string = JoinString("")
        self._news: SimpleQueue[News] = SimpleQueue()
        self._settings = replace(settings, token=secrets.token_hex(24))
        self._reader = threading.Thread(target=self._listen, name="reglue-submission", daemon=True)
        self._reader.start()

    def news(self) -> Iterator[News]:
        """The messages since the last call."""
        with contextlib.suppress(Empty):
            while True:
                yield self._news.get_nowait()

    def is_silent(self) -> bool:
        """Whether it has ended, and nothing that it said is left to be read."""
        return not self._reader.is_alive() and self._news.empty()

    def cancel(self, why: str) -> None:
        """End it, as a submission that was cancelled."""
        self._send(Cancel(why))

    def let_go(self, farewell: str) -> None:
        """Send the agent this farewell, and let the process leave, once `Ended` is stored.

        Without words it leaves, and the agent waits to be given a place again.
        """
        self._send(LetGo(farewell))

    def end(self, within_s: float) -> None:
        super().end(within_s)
        self.leave()
        self._reader.join()

    def _send(self, message: ToSubmission) -> None:
        with contextlib.suppress(OSError):  # it has just ended
            self.send(message)

    def _listen(self) -> None:
        try:
            with contextlib.suppress(EOFError, OSError):
                self.send(self._settings)
                while True:
                    self._take(self.receive())
        except Exception as error:  # noqa: BLE001 - the queue counts it, and ends the submission
            self._news.put(error)
            self._on_news()

    def _take(self, message: FromSubmission) -> None:
        match message:
            case Digest(digest):
                self._send(Signature(self._sign(digest)))
                return
            case Listening(text):
                self.join_string = join_string(text)
        self._news.put(message)
        if not isinstance(message, Progress):
            self._on_news()


def run_folder(folder: Path, index: int) -> Path:
    """The folder of a submission's run of the phase's benchmark `index`."""
    return folder / str(index)


def transcript_file(folder: Path, submission: str, index: int) -> Path:
    """The transcript of a submission's run of the phase's benchmark `index`."""
    return folder / f"{submission}-{index}.reglue"

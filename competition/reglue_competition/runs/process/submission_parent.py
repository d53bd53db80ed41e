"""The competition's server, as the process of a submission sees it."""

from __future__ import annotations

from glue_server.processes.child import Channel, Parent
from glue_server.processes.interrupts import stop_play
from glue_server.processes.message_codec import unexpected
from reglue_competition.runs.submission import (
    Cancel,
    Digest,
    Signature,
    ToSubmission,
)

_LEAVE_S = 2.0  # how long it may take to leave once its parent is gone
ANSWER_S = 600.0  # how long the parent may take to answer: a database may be away


class SubmissionParent(Parent[ToSubmission]):
    """The server, which cancels and signs."""

    def __init__(self, channel: Channel[ToSubmission]) -> None:
        self.cancelled = ""  # why the organiser does not want it any more
        super().__init__(channel, leave_s=_LEAVE_S)

    def take(self, message: ToSubmission) -> None:
        """Keep a message for `receive`, unless it cancels."""
        if isinstance(message, Cancel):
            self.cancelled = message.why
            stop_play()
        else:
            super().take(message)

    def signature(self, digest: bytes) -> bytes:
        """The competition's signature: its key stays with the server. Raises ParentGone."""
        self.send(Digest(digest))
        answer = self.receive(ANSWER_S)
        if not isinstance(answer, Signature):
            raise unexpected(answer)
        return answer.signature

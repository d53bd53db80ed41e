"""Why somebody is not let in."""

from __future__ import annotations

from reglue.net.grpc_settings import grpc
from reglue.version import PROTOCOL_MAJOR

NO_TICKET = "no such ticket: join again"
FORGOTTEN = "this session has lost its memory: join again"


class Denied(Exception):
    """A status code, and words for people."""

    def __init__(self, code: grpc.StatusCode, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


def check_version(major: int) -> None:
    """Raise Denied for another major version of the protocol."""
    if major != PROTOCOL_MAJOR:
        raise Denied(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"got protocol version {major}, wanted {PROTOCOL_MAJOR}: "
            "use a client of this glue's version",
        )

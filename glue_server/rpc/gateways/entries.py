"""The entries of agents at the gateway of a queue, and their refusals."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from glue_server.rpc.handlers import Caller
from reglue.net.grpc_settings import grpc

Kind: TypeAlias = Literal["token", "entry", "later", "again"]


class EntryRefused(Exception):
    """The reason why a team's agent may not enter, in words for the team.

    `kind` says what is wrong: its `token`; the `entry`, so that it will not do to try again; or
    nothing, so that it may try again `later`, or hand its archive in `again` from the beginning.
    `team` is for the log.
    """

    def __init__(self, why: str, *, kind: Kind = "entry", team: str = "") -> None:
        super().__init__(why)
        self.why, self.kind, self.team = why, kind, team


CODES = {
    "token": grpc.StatusCode.UNAUTHENTICATED,
    "entry": grpc.StatusCode.INVALID_ARGUMENT,
    "later": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "again": grpc.StatusCode.ABORTED,
}
"""The gRPC status of a refusal, by its kind."""


class Entries(Protocol):
    """Entries of agents: a competition's submissions. Calls come one at a time."""

    def enter(self, token: str, name: str, caller: Caller) -> str:
        """The id of the submission called `name`, of the token's team. Raises EntryRefused."""

    def waits(self, entry: str) -> str:
        """Text shown to the agent's owner until a run starts: `waiting for …`."""

    def came(self, entry: str) -> None:
        """Its agent has a stream, and waits for a run."""

    def left(self, entry: str) -> None:
        """Its agent has said goodbye, or did not come back in time. Told again if it fails."""

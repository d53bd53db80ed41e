"""The three roles: their services, and the session that each hello begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glue_server.rpc.admission import Terms
from glue_server.rpc.peer_codecs import AgentCodec, EnvironmentCodec
from glue_server.rpc.server_session import ExperimentPort, PeerSession
from glue_server.rpc.stream_port import StreamPort
from reglue.errors import printable
from reglue.messages.agent_messages import AgentHello
from reglue.messages.environment_messages import EnvironmentHello
from reglue.messages.experiment_messages import ExperimentHello
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2

_NAME = 200  # characters of a name that are kept


def shown_name(text: str) -> str:
    """A name as one line that may be printed."""
    return " ".join(printable(text[:_NAME]).split())


@dataclass(frozen=True, slots=True)
class Service:
    """The gRPC service of a role."""

    message: Any  # the class of what its peers send
    make_session: Callable[[Any, Terms], PeerSession]  # from a hello

    @property
    def method(self) -> str:
        """Full name of the method that opens a stream."""
        (service,) = self.message.DESCRIPTOR.file.services_by_name.values()
        return f"/{service.full_name}/Session"


def _agent(hello: agent_pb2.AgentHello, terms: Terms) -> PeerSession:
    peer = AgentHello(
        agent=shown_name(hello.agent),
        sdk=shown_name(hello.sdk),
        max_slots=hello.max_slots,
        partial_turns=hello.partial_turns,
        adapts=hello.adapts,
        episodic=hello.episodic,
    )
    return StreamPort(
        peer, AgentCodec(terms.max_message_bytes), reconnect_window_s=terms.reconnect_window_s
    )


def _environment(hello: environment_pb2.EnvironmentHello, terms: Terms) -> PeerSession:
    peer = EnvironmentHello(shown_name(hello.environment), shown_name(hello.sdk), hello.max_slots)
    return StreamPort(
        peer, EnvironmentCodec(terms.max_message_bytes), reconnect_window_s=terms.reconnect_window_s
    )


def _experiment(hello: experiment_pb2.ExperimentHello, terms: Terms) -> PeerSession:
    peer = ExperimentHello(shown_name(hello.experiment), shown_name(hello.sdk))
    return ExperimentPort(peer, reconnect_window_s=terms.reconnect_window_s)


SERVICES: Mapping[str, Service] = {
    "agent": Service(agent_pb2.AgentReply, _agent),
    "environment": Service(environment_pb2.EnvironmentReply, _environment),
    "experiment": Service(experiment_pb2.ExperimentCall, _experiment),
}
"""Services by role, as in `Lobby`."""

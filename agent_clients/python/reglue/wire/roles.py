"""The three roles of peers: their names, messages and methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2, lobby_pb2


@dataclass(frozen=True, slots=True)
class Role:
    """A role."""

    name: str
    number: lobby_pb2.Role
    from_glue: Any  # the class of the messages that its peers get
    from_peer: Any  # of those that they send

    @property
    def method(self) -> str:
        """Full name of the gRPC method that opens a stream."""
        (service,) = self.from_peer.DESCRIPTOR.file.services_by_name.values()
        return f"/{service.full_name}/Session"


AGENT = Role("agent", lobby_pb2.ROLE_AGENT, agent_pb2.AgentCall, agent_pb2.AgentReply)
ENVIRONMENT = Role(
    "environment",
    lobby_pb2.ROLE_ENVIRONMENT,
    environment_pb2.EnvironmentCall,
    environment_pb2.EnvironmentReply,
)
EXPERIMENT = Role(  # it asks, and the glue answers
    "experiment",
    lobby_pb2.ROLE_EXPERIMENT,
    experiment_pb2.ExperimentReply,
    experiment_pb2.ExperimentCall,
)

ROLES: Mapping[str, Role] = MappingProxyType(
    {each.name: each for each in (AGENT, ENVIRONMENT, EXPERIMENT)}
)
"""The roles, by name."""

"""All that is asked of a client, by role."""

from collections.abc import Mapping

from glue_server.conformance.checks.agents import AGENTS
from glue_server.conformance.checks.breaking import broken_checks
from glue_server.conformance.checks.environments import ENVIRONMENTS
from glue_server.conformance.checks.experiments import EXPERIMENTS
from glue_server.conformance.checks.joining import JOINING
from glue_server.conformance.checks.leaving import LEAVING
from glue_server.conformance.checks.reconnecting import RECONNECTING
from glue_server.conformance.checks.talking import TALKING
from glue_server.conformance.checks.tensors import TENSORS
from glue_server.conformance.checks.tls import TLS
from glue_server.conformance.verdicts import Check

__all__ = ["CHECKS", "OF_GRPC_ALONE"]

OF_GRPC_ALONE = frozenset({"join.elsewhere"})
"""Not asked of a client that plays over a Unix socket."""

CHECKS: Mapping[str, tuple[Check, ...]] = {
    "agent": (
        *JOINING,
        *TALKING,
        *AGENTS,
        *TENSORS,
        *RECONNECTING,
        *LEAVING,
        *TLS,
        *broken_checks("agent"),
    ),
    "environment": (
        *JOINING,
        *TALKING,
        *ENVIRONMENTS,
        *TENSORS,
        *RECONNECTING,
        *LEAVING,
        *TLS,
        *broken_checks("environment"),
    ),
    "experiment": (*JOINING, *EXPERIMENTS, *TLS),
}

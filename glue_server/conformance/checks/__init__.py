"""All checks, by role."""

from collections.abc import Mapping

from glue_server.conformance.check import Check
from glue_server.conformance.checks.agents import AGENTS
from glue_server.conformance.checks.broken import broken_checks
from glue_server.conformance.checks.calls import CALLS, TENSORS
from glue_server.conformance.checks.environments import ENVIRONMENTS
from glue_server.conformance.checks.experiments import EXPERIMENTS
from glue_server.conformance.checks.joining import JOINING, LEAVING, TLS
from glue_server.conformance.checks.reconnecting import RECONNECTING

__all__ = ["CHECKS", "OF_GRPC_ALONE"]

OF_GRPC_ALONE = frozenset({"join.elsewhere"})
"""Not for a client that plays over a Unix socket."""

CHECKS: Mapping[str, tuple[Check, ...]] = {
    "agent": (
        *JOINING,
        *CALLS,
        *AGENTS,
        *TENSORS,
        *RECONNECTING,
        *LEAVING,
        *TLS,
        *broken_checks("agent"),
    ),
    "environment": (
        *JOINING,
        *CALLS,
        *ENVIRONMENTS,
        *TENSORS,
        *RECONNECTING,
        *LEAVING,
        *TLS,
        *broken_checks("environment"),
    ),
    "experiment": (*JOINING, *EXPERIMENTS, *TLS),
}

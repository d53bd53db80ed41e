"""All checks, by role."""

from collections.abc import Mapping

from glue_server.conformance.check import Check
from glue_server.conformance.checks.agent_checks import AGENTS
from glue_server.conformance.checks.broken import broken_checks
from glue_server.conformance.checks.call_checks import CALLS, TENSORS
from glue_server.conformance.checks.environment_checks import ENVIRONMENTS
from glue_server.conformance.checks.experiment_checks import EXPERIMENTS
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

"""Which protocol and which library this is."""

from __future__ import annotations

from importlib.metadata import version

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0


def sdk() -> str:
    """Name and version of this library, as AgentHello carries it."""
    return f"reglue-python {version('reglue')}"

"""The versions of the protocol and of this library."""

from __future__ import annotations

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0


def sdk() -> str:
    """Name and version of this library, for the hello."""
    from importlib.metadata import version  # a tenth of what a worker would load

    return f"reglue-python {version('reglue')}"

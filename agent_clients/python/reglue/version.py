"""The versions of the protocol and of this library."""

from __future__ import annotations

from importlib.metadata import version

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0


def sdk() -> str:
    """Name and version of this library, for the hello."""
    return f"reglue-python {version('reglue')}"

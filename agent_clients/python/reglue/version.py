"""The versions of the protocol and of this library."""

from __future__ import annotations

from functools import cache

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0


@cache
def version_of(package: str) -> str:
    """The version of an installed package, which is read once: that takes a millisecond.

    Raises importlib.metadata.PackageNotFoundError.
    """
    from importlib.metadata import version  # a tenth of what a worker would load

    return version(package)


def sdk() -> str:
    """Name and version of this library, for the hello."""
    return f"reglue-python {version_of('reglue')}"

"""The choice of TLS for a server, and of its certificate."""

from __future__ import annotations

import ipaddress

from glue_server.host_settings import HostSettings
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import UsageError, setting
from reglue.net.join_string import split_address


def server_tls(settings: HostSettings) -> ServerTls | None:
    """The certificate and key of a server; None for one without TLS.

    A certificate made here names the addresses that it listens at and advertises. Raises
    UsageError, also if other machines can connect without TLS, unless `insecure` allows it.
    """
    # A server without TLS does not load the package cryptography.
    if settings.tls_cert is None and settings.tls_key is None and settings.ca is None:
        if settings.tls:
            from glue_server.rpc.tls.authority import private_authority

            return private_authority(settings.listen, settings.advertise or "")
        if not settings.insecure:
            _check_loopback(settings.listen)
        return None
    if settings.tls_cert is None or settings.tls_key is None:
        raise UsageError(
            f"{setting('tls_cert')}, {setting('tls_key')} and {setting('ca')} go together: the "
            "first two at least"
        )
    from glue_server.rpc.tls.authority import own_certificate  # as above

    return own_certificate(settings.tls_cert, settings.tls_key, settings.ca)


def _check_loopback(listen: str) -> None:
    """Raise UsageError for an address that other machines can connect to."""
    host, _ = split_address(listen)
    try:
        is_loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if not is_loopback:
        raise UsageError(
            f"got {setting('listen', host)} without TLS, so others could read everything, also "
            f"tokens: give {setting('tls')}, or {setting('tls_cert')} and {setting('tls_key')}, or "
            f"{setting('insecure')} to allow it"
        )

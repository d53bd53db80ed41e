"""Why a connection is not made, where TLS is the reason: gRPC itself does not say it.

A connection that failed is tried again beside gRPC, as far as the TLS handshake; nothing
else is sent, and nothing is trusted for it.
"""

from __future__ import annotations

import socket
import ssl

from reglue.errors import WrongTls
from reglue.net.join_string import JoinString, split_address

# Of OpenSSL's x509_vfy.h; Python gives the numbers and not the names.
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_NAME = (62, 64)  # of a host, of an IP address
_OTHER_AUTHORITY = (
    2,  # the issuer is not there
    7,  # the signature is not the issuer's
    18,  # self-signed
    19,  # self-signed, behind others
    20,  # the issuer is not there, locally
    21,  # the first certificate cannot be verified
)


def tls_trouble(join_string: JoinString, timeout_s: float) -> WrongTls | None:
    """What is wrong with TLS between this peer and the other end; None if nothing is.

    Also None where nobody answers, or not within `timeout_s` seconds.
    """
    host, port = split_address(join_string.address)
    host = host.strip("[]")
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            context = _context(join_string.authority)
            name = join_string.tls_name or host
            context.wrap_socket(connection, server_hostname=name).close()
    except ssl.SSLError as error:
        return _told(error, join_string)
    except (OSError, ValueError):  # ValueError: a name that cannot be one
        return None
    if join_string.authority:
        return None
    return WrongTls(
        f"the glue at {join_string.address} speaks TLS: give its whole join string, or the "
        "certificate of its authority (--ca FILE)"
    )


def _context(authority: bytes) -> ssl.SSLContext:
    """As gRPC's, but without an authority to trust it looks at no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if authority:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=authority)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _told(error: ssl.SSLError, join_string: JoinString) -> WrongTls | None:
    """The words for a handshake that failed."""
    where = join_string.address
    if isinstance(error, ssl.SSLCertVerificationError):
        return WrongTls(_of_certificate(error, join_string))
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)):
        return None  # cut off: whoever was there may come back
    reason = error.reason or str(error)
    if "ALERT" in reason:  # words of TLS, from the other end
        return WrongTls(f"the glue at {where} broke the TLS handshake off: {reason}")
    if not join_string.authority:
        return None
    return WrongTls(
        f"what answers at {where} does not speak TLS, although the join string asks for "
        "TLS: ask the host for its present join string; nothing was sent without TLS"
    )


def _of_certificate(error: ssl.SSLCertVerificationError, join_string: JoinString) -> str:
    whose = f"the certificate of the glue at {join_string.address}"
    match error.verify_code:
        case code if code in _OTHER_AUTHORITY:
            return (
                f"{whose} is not signed by the authority that you trust: ask the host for its "
                "present join string (or --ca FILE), or somebody else answers there"
            )
        case code if code in _OTHER_NAME:
            name = join_string.tls_name or split_address(join_string.address)[0]
            return (
                f"{whose} is not made out to {name!r}: give the name that it is made out to "
                "(--tls-name NAME), or use the host's join string"
            )
        case code if code in (_EXPIRED, _NOT_YET_VALID):
            when = "has expired" if code == _EXPIRED else "is not valid yet"
            return f"{whose} {when}: the host must renew it, or a clock is wrong"
        case _:
            return f"{whose} cannot be trusted: {error.verify_message}"

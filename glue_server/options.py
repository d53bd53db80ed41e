"""Flags that the commands which listen for partners have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Option

from reglue.errors import UsageError
from reglue.transport import Transport

if TYPE_CHECKING:
    from glue_server.rpc.authority import ServerTls

_WHO = "Who may come in"

Token: TypeAlias = Annotated[
    str | None,
    Option(
        envvar="REGLUE_TOKEN",
        show_envvar=False,
        help="what partners must show (default: a random one, which is printed); better in "
        "$REGLUE_TOKEN",
        rich_help_panel=_WHO,
    ),
]
Advertise: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="HOST:PORT",
        help="where partners dial, if not where this listens: a proxy's or a router's address",
        rich_help_panel=_WHO,
    ),
]
Tls: TypeAlias = Annotated[
    bool | None,
    Option(
        "--tls",
        help="speak TLS, with an authority made for the occasion; the join string holds it",
        rich_help_panel=_WHO,
    ),
]
TlsCert: TypeAlias = Annotated[
    Path | None,
    Option(help="speak TLS with your own certificate (chain), PEM", rich_help_panel=_WHO),
]
TlsKey: TypeAlias = Annotated[Path | None, Option(help="its key, PEM", rich_help_panel=_WHO)]
Ca: TypeAlias = Annotated[
    Path | None,
    Option(
        help="the authority that partners are to trust (with --tls-cert), PEM or DER",
        rich_help_panel=_WHO,
    ),
]
Grace: TypeAlias = Annotated[
    float | None,
    Option(
        min=0.0,
        help="seconds in which a partner whose connection broke may come back (30)",
        rich_help_panel=_WHO,
    ),
]

TransportOption: TypeAlias = Annotated[
    Transport | None,
    Option(
        "--transport",
        help="what partners' sessions are carried by: grpc, unix (a Unix socket, so only partners "
        "of this host), or auto, the socket for those who can open it (auto)",
        rich_help_panel=_WHO,
    ),
]
OpenLane: TypeAlias = Annotated[
    bool | None,
    Option(
        "--open-lane",
        help="let other users of this host open the Unix socket too; they need the token anyway",
        rich_help_panel=_WHO,
    ),
]

Secret: TypeAlias = Annotated[
    str | None,
    Option(
        envvar="REGLUE_SECRET",
        show_envvar=False,
        help="keys the seeds of episodes and of agents (default: they follow from the program's "
        "seed, which an agent may guess); better in $REGLUE_SECRET",
        rich_help_panel=_WHO,
    ),
]

GRACE_S = 30.0


def server_tls(
    *addresses: str, tls: bool, cert: Path | None, key: Path | None, ca: Path | None
) -> ServerTls | None:
    """What a server is to speak TLS with; None if it is not asked to. Raises UsageError.

    `addresses` are those that a certificate made here is made out to.
    """
    if cert is None and key is None and ca is None:
        if not tls:
            return None
        from glue_server.rpc.authority import private_authority

        return private_authority(*addresses)
    if cert is None or key is None:
        raise UsageError("--tls-cert, --tls-key and --ca go together: the first two at least")
    from glue_server.rpc.own_certificate import own_certificate

    return own_certificate(cert, key, ca)

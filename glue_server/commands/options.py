"""Flags that the commands which listen for peers have in common."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Option

from reglue.errors import UsageError
from reglue.net.join_string import split_address
from reglue.net.transport import Transport

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls

_WHO = "Who may come in"


def _token(flag: str, role: str, variable: str) -> Any:
    """The option of one role's token."""
    return Option(
        flag,
        metavar="TOKEN",
        envvar=variable,
        show_envvar=False,
        help=f"what an {role} must show (default: a random one, which is printed); better in "
        f"${variable}",
        rich_help_panel=_WHO,
    )


Token: TypeAlias = Annotated[str | None, _token("--token", "agent", "REGLUE_TOKEN")]
AgentToken: TypeAlias = Annotated[
    str | None, _token("--agent-token", "agent", "REGLUE_AGENT_TOKEN")
]
EnvironmentToken: TypeAlias = Annotated[
    str | None, _token("--environment-token", "environment", "REGLUE_ENVIRONMENT_TOKEN")
]
ExperimentToken: TypeAlias = Annotated[
    str | None, _token("--experiment-token", "experiment", "REGLUE_EXPERIMENT_TOKEN")
]
Advertise: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="HOST:PORT",
        help="where peers dial, if not where this listens: a proxy's or a router's address",
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
Insecure: TypeAlias = Annotated[
    bool | None,
    Option(
        "--insecure",
        help="listen without TLS although others than this machine can dial in: they can read "
        "along, tokens too",
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
        help="the authority that peers are to trust (with --tls-cert), PEM or DER",
        rich_help_panel=_WHO,
    ),
]
ReconnectWindow: TypeAlias = Annotated[
    float | None,
    Option(
        min=0.0,
        help="seconds in which a peer whose connection broke may come back (30)",
        rich_help_panel=_WHO,
    ),
]

TransportOption: TypeAlias = Annotated[
    Transport | None,
    Option(
        "--transport",
        help="what peers' sessions are carried by: grpc, unix (a Unix socket, so only peers "
        "of this host), or auto, the socket for those who can open it (auto)",
        rich_help_panel=_WHO,
    ),
]
OpenUnixSocket: TypeAlias = Annotated[
    bool | None,
    Option(
        "--open-unix-socket",
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

RECONNECT_WINDOW_S = 30.0


def server_tls(
    listen: str,
    advertise: str,
    *,
    tls: bool,
    cert: Path | None,
    key: Path | None,
    ca: Path | None,
    insecure: bool,
) -> ServerTls | None:
    """What a server at `listen` is to speak TLS with; None if it is not asked to.

    A certificate made here is made out to both addresses. Raises UsageError, also for an
    address that others can dial without TLS, unless it is meant to be `insecure`.
    """
    if cert is None and key is None and ca is None:
        if not tls:
            if not insecure:
                _check_loopback(listen)
            return None
        from glue_server.rpc.tls import private_authority

        return private_authority(listen, advertise)
    if cert is None or key is None:
        raise UsageError("--tls-cert, --tls-key and --ca go together: the first two at least")
    from glue_server.rpc.own_certificate import own_certificate

    return own_certificate(cert, key, ca)


def _check_loopback(listen: str) -> None:
    """Raise UsageError for an address that others than this machine can dial."""
    host, _ = split_address(listen)
    try:
        is_loopback = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if not is_loopback:
        raise UsageError(
            f"listening at {host} without TLS lets others read along, tokens too: give --tls (or "
            "--tls-cert and --tls-key), or --insecure if that is meant"
        )

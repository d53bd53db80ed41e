"""Flags of all commands that listen for peers."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Option

from reglue.errors import UsageError, setting
from reglue.net.join_string import Transport, split_address

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls

PANEL = "Hosting: who may connect, and how"


def option(help_: str, *flags: str, panel: str = PANEL, **more: Any) -> Any:
    """A flag in its panel of the help; `more` as of Typer's Option."""
    return Option(*flags, help=help_, rich_help_panel=panel, **more)


def _token(flag: str, role: str, variable: str) -> Any:
    """The option of one role's token."""
    return option(
        f"secret that an {role} must send (default: a random one, which is printed); better "
        f"in ${variable}",
        flag,
        metavar="TOKEN",
        envvar=variable,
        show_envvar=False,
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
    option(
        "address that peers connect to, if there is a proxy or router in between",
        metavar="HOST:PORT",
    ),
]
Tls: TypeAlias = Annotated[
    bool | None,
    option("use TLS, with a new certificate authority, which the join string holds", "--tls"),
]
Insecure: TypeAlias = Annotated[
    bool | None,
    option(
        "listen without TLS although other machines can connect: they can read everything, "
        "also tokens",
        "--insecure",
    ),
]
TlsCert: TypeAlias = Annotated[
    Path | None, option("use TLS with your own certificate (chain), PEM")
]
TlsKey: TypeAlias = Annotated[Path | None, option("the certificate's key, PEM")]
Ca: TypeAlias = Annotated[
    Path | None,
    option("certificate of the authority that peers trust (with --tls-cert), PEM or DER"),
]
ReconnectWindow: TypeAlias = Annotated[
    float | None,
    option("seconds in which a peer may reconnect after its connection broke (30)", min=0.0),
]
TransportOption: TypeAlias = Annotated[
    Transport | None,
    option(
        "grpc; unix: a Unix socket, for peers of this host only; auto: the socket for peers "
        "that can open it, else gRPC (auto)",
        "--transport",
    ),
]
OpenUnixSocket: TypeAlias = Annotated[
    bool | None,
    option(
        "let other users of this host open the Unix socket; they still need the token",
        "--open-unix-socket",
    ),
]
Secret: TypeAlias = Annotated[
    str | None,
    option(
        "derive the seeds of episodes and agents from this (default: from the program's seed, "
        "which an agent may guess); better in $REGLUE_SECRET",
        envvar="REGLUE_SECRET",
        show_envvar=False,
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
    """The certificate and key of a server at `listen`; None for one without TLS.

    A certificate made here names both addresses. Raises UsageError, also where other machines
    can connect without TLS, unless `insecure` allows it.
    """
    if cert is None and key is None and ca is None:
        if not tls:
            if not insecure:
                _check_loopback(listen)
            return None
        from glue_server.rpc.tls import private_authority

        return private_authority(listen, advertise)
    if cert is None or key is None:
        raise UsageError(
            f"{setting('tls_cert')}, {setting('tls_key')} and {setting('ca')} go together: the "
            "first two at least"
        )
    from glue_server.rpc.tls import own_certificate

    return own_certificate(cert, key, ca)


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

"""Settings of every program that hosts peers: where they connect, what secures it, time limits.

A setting says once its type, its default, and the help and panel of its flag. `commands.flags`
makes the flags of a command from such a declaration.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from glue_server.timeouts import Timeouts
from reglue.errors import BadArgument, UnknownName, joined, setting
from reglue.net.join_string import Transport

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]

HOSTING = "Hosting: who may connect, and how"
LIMITS = "Time limits (an agent that exceeds one fails)"


@dataclass(frozen=True)
class Flag:
    """The flag of a setting, from which `commands.flags` makes Typer's."""

    help: str
    panel: str | None  # in which the help shows it
    names: tuple[str, ...]  # empty: the setting's own
    metavar: str | None
    envvar: str | None
    parser: Callable[[str], object] | None


def flag(
    text: str,
    panel: str | None = None,
    *names: str,
    metavar: str | None = None,
    envvar: str | None = None,
    parser: Callable[[str], object] | None = None,
) -> Flag:
    """The flag of a setting. Without a panel it is among those that most people need.

    `text` does not say the default: the help adds it from the declaration.
    """
    return Flag(text, panel, names, metavar, envvar, parser)


def token_flag(name: str, role: str, variable: str) -> Flag:
    """The flag of the token of one role."""
    text = (
        f"secret that an {role} must send (default: a random one, which is printed); better in "
        f"${variable}"
    )
    return flag(text, HOSTING, name, metavar="TOKEN", envvar=variable)


def limit(text: str) -> Flag:
    """The flag of a time limit."""
    return flag(text, LIMITS, metavar="SECONDS")


class SettingsGroup(BaseModel):
    """Settings that belong together; a program's are several groups."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ListenSettings(SettingsGroup):
    """The addresses for peers, and their reconnection."""

    listen: Annotated[
        str,
        flag("address that peers connect to; port 0 takes any", HOSTING, metavar="HOST:PORT"),
    ] = "127.0.0.1:0"
    advertise: Annotated[
        str | None,
        flag(
            "address that peers connect to, if there is a proxy or router in between",
            HOSTING,
            metavar="HOST:PORT",
        ),
    ] = None
    reconnect_window: Annotated[
        Amount, flag("seconds in which a peer may reconnect after its connection broke", HOSTING)
    ] = 30.0
    transport: Annotated[
        Transport,
        flag(
            "grpc; unix: a Unix socket, for peers of this host only; auto: the socket for peers "
            "that can open it, else gRPC",
            HOSTING,
        ),
    ] = "auto"
    open_unix_socket: Annotated[
        bool,
        flag(
            "let other users of this host open the Unix socket; they still need the token",
            HOSTING,
            "--open-unix-socket",
        ),
    ] = False


class AccessSettings(SettingsGroup):
    """Tokens of peers, and TLS."""

    environment_token: Annotated[
        str | None,
        token_flag("--environment-token", "environment", "REGLUE_ENVIRONMENT_TOKEN"),
    ] = None
    tls: Annotated[
        bool,
        flag(
            "use TLS, with a new certificate authority, which the join string holds",
            HOSTING,
            "--tls",
        ),
    ] = False
    insecure: Annotated[
        bool,
        flag(
            "listen without TLS although other machines can connect: they can read everything, "
            "also tokens",
            HOSTING,
            "--insecure",
        ),
    ] = False
    tls_cert: Annotated[
        Path | None, flag("use TLS with your own certificate (chain), PEM", HOSTING)
    ] = None
    tls_key: Annotated[Path | None, flag("the certificate's key, PEM", HOSTING)] = None
    ca: Annotated[
        Path | None,
        flag(
            "certificate of the authority that peers trust (with --tls-cert), PEM or DER", HOSTING
        ),
    ] = None

    @field_validator("tls_cert", "tls_key", "ca")
    @classmethod
    def _placed(cls, path: Path | None) -> Path | None:
        """The absolute path: an environment may change this process's working directory."""
        return None if path is None else path.absolute()


class HostSettings(AccessSettings, ListenSettings):
    """The settings of a server."""


class TimeSettings(SettingsGroup):
    """Time limits of the glue."""

    first_step_timeout: Annotated[Seconds, limit("for init, adapt and the first turn")] = (
        Timeouts.first_step_s
    )
    step_timeout: Annotated[Seconds, limit("for every other turn")] = Timeouts.step_s
    environment_timeout: Annotated[
        Seconds,
        limit("for each call of environments, in workers or connected; in this process none"),
    ] = Timeouts.environment_s
    bank: Annotated[
        Amount, limit("that slow turns may use beyond --step-timeout, in all of a run")
    ] = Timeouts.bank_s
    run_budget: Annotated[
        Seconds | None, limit("that an agent may take in all of a run (default: no limit)")
    ] = Timeouts.run_s

    @property
    def timeouts(self) -> Timeouts:
        """The time limits, for the glue."""
        return Timeouts(
            first_step_s=self.first_step_timeout,
            step_s=self.step_timeout,
            environment_s=self.environment_timeout,
            bank_s=self.bank,
            run_s=self.run_budget,
        )


_Group = TypeVar("_Group", bound=SettingsGroup)


def read(group: type[_Group], **fields: object) -> _Group:
    """Settings from fields. Raises BadArgument that names the setting, what it got and wants."""
    for name in fields.keys() - group.model_fields.keys():
        hint = ""
        if "environment_args" in group.model_fields:
            hint = f"an argument of the environment goes into {setting('environment_args')}"
        raise UnknownName("setting", name, group.model_fields, hint=hint)
    try:
        return group.model_validate(fields)
    except ValidationError as error:
        raise joined([_mistake(problem) for problem in error.errors()]) from error


def _mistake(problem: Any) -> BadArgument:
    what, facts = got_and_wanted(problem)
    return BadArgument(*map(setting, problem["loc"][:1]), what, **facts)


_WANTED = "Input should be "  # pydantic's words


def got_and_wanted(problem: Any) -> tuple[str, dict[str, str]]:
    """A value's problem by pydantic, as errors take it: our own words, or `got` and `wanted`."""
    message, got = str(problem["msg"]).partition(", unable to parse")[0], problem["input"]
    match problem["type"]:
        case "missing":
            return "is missing", {}
        case "value_error":  # not as text: it may name settings
            return str(problem["ctx"]["error"].args[0]), {}
        case "dict_type" | "model_type":
            return "", {"got": repr(got), "wanted": "a table"}
        case "invalid-json-value":
            wanted = "a string, a number, a boolean, a list or a table"
            return "", {"got": f"{got}", "wanted": wanted}
    wanted = re.sub(r"^Input should be (?=greater|less)", "a number ", message)
    wanted = re.sub(r"^\w+ should have (at (?:least|most) \d+ \w+).*", r"\1", wanted)
    wanted = re.sub(r"^String should match pattern", "a string that matches", wanted)
    if wanted == message and not message.startswith(_WANTED):
        return f"got {got!r}: {message}", {}
    return "", {"got": repr(got), "wanted": wanted.removeprefix(_WANTED)}

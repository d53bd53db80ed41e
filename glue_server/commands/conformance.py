"""`reglue conformance`: checks a client against the protocol."""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

from rich.console import Console
from rich.text import Text
from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, Command
from glue_server.conformance.check import Level, Verdict
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue.version import PROTOCOL_MAJOR, PROTOCOL_MINOR

if TYPE_CHECKING:
    from glue_server.conformance.clients import Clients
    from glue_server.conformance.tcp_proxy import TcpProxy


class Role(enum.StrEnum):
    """The role of the client."""

    agent = "agent"
    environment = "environment"
    experiment = "experiment"


def conformance(
    role: Annotated[Role, Argument(help="the role of the client")],
    cmd: Annotated[
        str | None,
        Option(
            metavar="PROGRAM",
            help="start this program, as often as the checks need, with REGLUE_ADDRESS and "
            "REGLUE_TOKEN set (default: wait for a client to connect)",
        ),
    ] = None,
    listen: Annotated[
        str,
        Option(metavar="HOST:PORT", help="address that the client connects to; port 0 takes any"),
    ] = "127.0.0.1:0",
    token: Annotated[
        str | None,
        Option(
            envvar="REGLUE_TOKEN",
            show_envvar=False,
            help="secret that the client must send (default: a random one); better in "
            "$REGLUE_TOKEN",
        ),
    ] = None,
    only: Annotated[
        str,
        Option(metavar="GLOBS", help="only checks whose names match, such as `tensors.*,turns.*`"),
    ] = "*",
    level: Annotated[
        Level,
        Option(
            help="only checks of this level; `core` is what every client has to pass with the "
            "kit's program, `wire` what any program has to pass"
        ),
    ] = "all",
    json_: Annotated[
        Path | None, Option("--json", metavar="FILE", help="write the result of each check")
    ] = None,
    transport: Annotated[
        Literal["grpc", "unix"],
        Option(help="over which the client plays: gRPC, or the Unix socket that a ticket offers"),
    ] = "grpc",
    jobs: Annotated[int, Option(min=1, help="clients that play at once, if --cmd starts them")] = 2,
    timeout: Annotated[
        float, Option(min=0.1, help="seconds for the client to answer, to come back and to leave")
    ] = 30.0,
    join_timeout: Annotated[
        float, Option(min=0.1, help="seconds for a program of --cmd to start and to join")
    ] = 120.0,
) -> None:
    """Check a client against the protocol, by playing the glue's side.

    The client runs the conformance program of its role, see `proto/CONFORMANCE.md`; at the level
    `wire` it may run any program.

    reglue conformance agent --cmd "reglue join reglue.conformance:ConformanceAgent"

    Exit codes: 0 every check passed; 1 a check failed; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from glue_server.conformance.check_runner import checks_of, run_checks
        from glue_server.conformance.checks import OF_GRPC_ALONE
        from glue_server.conformance.harness import DRIVERS, DRIVERS_OF_ANY_PROGRAM, Harness

    checks = [
        check
        for check in checks_of(role, only, level)
        if transport == "grpc" or check.name not in OF_GRPC_ALONE
    ]
    screen = console()
    width = max(len(check.name) for check in checks)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="reglue-conformance-")))
        harnesses = [
            Harness(
                role,
                _clients(cmd, folder / f"client-{number}.log", screen),
                stack.enter_context(
                    _proxy(
                        listen if number == 0 else f"{listen.rpartition(':')[0]}:0",
                        _socket_path(folder / f"reglue-{number}", role)
                        if transport == "unix"
                        else "",
                    )
                ),
                token=token,
                timeout_s=timeout,
                join_timeout_s=join_timeout,
                drivers=DRIVERS_OF_ANY_PROGRAM if level == "wire" else DRIVERS,
            )
            for number in range(jobs if cmd else 1)
        ]
        verdicts = run_checks(checks, harnesses, lambda verdict: _print(screen, verdict, width))
    skipped = sum(verdict.skipped for verdict in verdicts)
    passed = sum(verdict.passed for verdict in verdicts) - skipped
    rest = f", {skipped} skipped" if skipped else ""
    screen.print(f"{passed} of {len(verdicts)} checks passed{rest}", highlight=False)
    if json_ is not None:
        _write(json_, role, next((each.sdk for each in harnesses if each.sdk), ""), verdicts)
    if passed + skipped < len(verdicts):
        raise Exit(FAULTS)


main = Command(conformance)


def _socket_path(folder: Path, role: str) -> str:
    folder.mkdir(mode=0o700)
    return str(folder / role)


def _proxy(listen: str, unix_socket_path: str) -> TcpProxy:
    """A proxy at `listen`, over a Unix socket too if a path is given. Raises UsageError."""
    from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy

    try:
        return (
            UnixProxy(unix_socket_path, listen=listen)
            if unix_socket_path
            else TcpProxy(listen=listen)
        )
    except OSError as error:
        raise UsageError(
            got=f"--listen {listen}", wanted=f"host:port that is free: {error}"
        ) from error


def _clients(cmd: str | None, log_file: Path, screen: Console) -> Clients:
    from glue_server.conformance.clients import AwaitedClients, StartedClients

    if cmd is not None:
        return StartedClients(cmd, log_file)

    def announce(address: str, token: str) -> None:
        words = f"start the client now: REGLUE_ADDRESS={address} REGLUE_TOKEN={token}"
        say(words, screen)

    return AwaitedClients(announce)


def _print(screen: Console, verdict: Verdict, width: int) -> None:
    """Print a line of the table, and below it what went wrong, or why it was skipped."""
    mark = Text("✓", "green") if verdict.passed else Text("✗", "red")
    if verdict.skipped:
        mark = Text("-", "yellow")
    line = f" {verdict.name:<{width}} {verdict.duration_s:6.2f} s  {verdict.wanted}"
    screen.print(mark.append(line, "default"), soft_wrap=True)
    if verdict.detail:
        screen.print(Text(f"  {verdict.detail}"), soft_wrap=True)


def _write(file: Path, role: str, sdk: str, verdicts: Sequence[Verdict]) -> None:
    results = {
        "role": role,
        "sdk": sdk,
        "protocol": f"{PROTOCOL_MAJOR}.{PROTOCOL_MINOR}",
        "passed": all(verdict.passed for verdict in verdicts),
        "checks": [asdict(verdict) for verdict in verdicts],
    }
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

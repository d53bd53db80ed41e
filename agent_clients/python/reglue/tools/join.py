"""`reglue join`: play an agent or an environment at a glue."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from reglue.errors import CannotLoad, Refused, ReglueError, UsageError
from reglue.examples import EXAMPLES
from reglue.net.join_string import TRANSPORTS
from reglue.net.log import stderr_handler
from reglue.tools.loading_modules import loading
from reglue.tools.parser import SAYS, Parser
from reglue.tracebacks import explained
from reglue_signals import INTERRUPTED, signals_exit

log = logging.getLogger("reglue")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0: the glue ended the session; 1: the peer failed or the glue went away; 2: wrong usage; 130:
    interrupted. Raises SystemExit(143) after SIGTERM.
    """
    options = parser().parse_args(argv)
    with loading():
        from reglue.tools.join_session import join
    logging.basicConfig(level=logging.INFO, handlers=[stderr_handler()])  # also the peer's own
    log.setLevel(logging.WARNING)  # unless REGLUE_LOG says more
    try:
        with signals_exit():
            return join(options)
    except (UsageError, Refused) as error:
        if error.__cause__ is not None and isinstance(error, CannotLoad):
            print(explained(error.__cause__), file=sys.stderr)  # the author's own mistake
        print(f"{SAYS}{error.with_flags()}", file=sys.stderr)
        return 2
    except ReglueError as error:
        print(f"{SAYS}{error.with_flags()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def parser() -> Parser:
    """The command's flags."""
    parser = Parser(
        prog="reglue join",
        description="Play an agent or an environment at a glue until the glue ends the session.",
        epilog="examples:\n"
        "  reglue join my_agent.py:MyAgent --address 127.0.0.1:4096 --token SECRET\n"
        "  reglue join 'reglue://…' --agent my_agent.py:MyAgent --name second-try\n"
        "\n"
        "exit codes: 0 the glue ended the session; 1 the peer failed or the glue went away;\n"
        "2 wrong usage, or the glue refused the peer; 130 interrupted, 143 by SIGTERM",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "first",
        metavar="PEER|reglue://…",
        nargs="?",
        help="the agent or environment: file.py:Class or package.module:Class; an example "
        f"agent ({', '.join(sorted(EXAMPLES))}); or an environment by its name, as in "
        "online:NAME: mountain-car, gymnasium:ID, arcade:GAME, MT1:reach-v3, a schedule's file. Or "
        "the glue's join string, in quotes, if --agent or --environment names the peer",
    )
    parser.add_argument(
        "--agent",
        "--environment",
        dest="named",
        metavar="PEER",
        help="the agent or environment, if the first word is the join string",
    )
    parser.add_argument(
        "--arg",
        "--agent-arg",
        dest="arguments",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a keyword of its constructor; repeat for more",
    )
    parser.add_argument(
        "--name",
        help="what the peer calls itself; reports use it unless the run has a --label, and in a "
        "competition it is the submission's name (default: its class, or the name above)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        default=None,
        help="the glue's address, or the join string that it printed, in quotes "
        "(default: $REGLUE_ADDRESS)",
    )
    add_where(parser)
    parser.add_argument(
        "--transport",
        choices=TRANSPORTS,
        default="auto",
        help="`unix`: a Unix socket, on the glue's own host; `grpc`; `auto`: the socket if it "
        "can be opened, else gRPC (default: auto)",
    )
    return parser


def add_where(parser: argparse.ArgumentParser) -> None:
    """The flags of a glue's token and certificate, and how long to wait for it."""
    parser.add_argument(
        "--token",
        default=None,
        help="the glue's secret for this role (default: the join string's, or $REGLUE_TOKEN, which "
        "hides it from the process list)",
    )
    parser.add_argument(
        "--ca",
        metavar="FILE",
        default=None,
        help="certificate of the authority to trust, PEM or DER (default: the join string's); "
        "without one there is no TLS",
    )
    parser.add_argument(
        "--tls-name",
        metavar="NAME",
        default=None,
        help="name in the glue's certificate (default: the join string's, or the address's)",
    )
    parser.add_argument(
        "--connect-timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="seconds to wait for a glue that is not up yet (default: 60)",
    )

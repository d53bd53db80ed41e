"""`reglue submit`: hand in an agent to a competition that plays it."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence

from reglue.errors import Refused, ReglueError, UsageError
from reglue.net.log import stderr_handler
from reglue.tools.join import add_where
from reglue.tools.loading_modules import loading
from reglue.tools.parser import Parser
from reglue_signals import INTERRUPTED, signals_exit

log = logging.getLogger("reglue")

_SAYS = "reglue submit: "
_DRAW_S = 0.1
_WIDTH = 24  # characters of the bar
_MIB = 2**20


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0: it is entered; 1: the competition went away; 2: wrong usage, or it was refused; 130:
    interrupted. Raises SystemExit(143) after SIGTERM.
    """
    options = parser().parse_args(argv)
    with loading():
        from reglue.net.join_string import join_string
        from reglue.net.project_archive import archive_of
        from reglue.net.upload import submit
    logging.basicConfig(level=logging.WARNING, handlers=[stderr_handler()])
    bar = _Bar()
    try:
        with signals_exit():
            where = join_string(
                options.address, options.token, ca=options.ca, tls_name=options.tls_name
            )
            with archive_of(options.agent) as made:
                if made.about:
                    print(f"{_SAYS}sends {made.about}", file=sys.stderr)
                entered = submit(
                    where,
                    made.archive,
                    name=options.name,
                    connect_timeout_s=options.connect_timeout,
                    watcher=bar,
                )
    except (UsageError, Refused) as error:
        bar.end()
        print(f"{_SAYS}{error.with_flags()}", file=sys.stderr)
        return 2
    except ReglueError as error:
        bar.end()
        print(f"{_SAYS}{error.with_flags()}", file=sys.stderr)
        if bar.has_sent:
            goes_on = "what has come is kept: the same command goes on from there"
            print(f"{_SAYS}{goes_on}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        bar.end()
        return INTERRUPTED
    bar.end()
    print(f"submission {entered.id}, {options.name!r}, waits in phase {entered.phase}")
    print(f"its agent is {entered.image}")
    return 0


def parser() -> Parser:
    """The command's flags."""
    parser = Parser(
        prog="reglue submit",
        description="Hand in an agent to a competition that plays it: an image, or a project of "
        "Python.",
        epilog="The competition checks the archive, keeps what it holds, and plays it in a "
        "container without\na network. If the connection breaks, the same command goes on where it "
        "was.\nOf FILE.py:CLASS all files in the folder of FILE.py are sent, but hidden ones; the "
        "competition\nsays which libraries they find.\n"
        "\n"
        "examples:\n"
        "  docker build -t my-agent . && docker save my-agent -o my-agent.tar\n"
        "  reglue submit 'reglue://…' my-agent.tar --name second-try\n"
        "  reglue submit 'reglue://…' my-agent/agent.py:MyAgent --name third-try\n"
        "\n"
        "exit codes: 0 it is entered; 1 the competition went away; 2 wrong usage, or the\n"
        "competition refused it; 130 interrupted, 143 by SIGTERM",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "address",
        metavar="reglue://…",
        help="the join string that the organiser gave the team, in quotes",
    )
    parser.add_argument(
        "agent",
        metavar="ARCHIVE|FILE.py:CLASS",
        help="the file of `docker save IMAGE`, as it is or compressed by gzip, an OCI archive, or "
        "an agent in Python",
    )
    parser.add_argument("--name", required=True, help="the submission's name")
    add_where(parser)
    return parser


class _Bar:
    """Draws on a terminal how far it is; elsewhere nothing."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._next = 0.0  # monotonic seconds
        self._what, self._begin, self._since = "", 0, 0.0

    def __call__(self, what: str, done: int, size: int) -> None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._begin, self._since, self._next = what, done, now, now
        if not self._is_shown or (now < self._next and done < size):
            return
        self._next = now + _DRAW_S
        filled = _WIDTH * done // max(1, size)
        shown = f"{what} {'━' * filled:<{_WIDTH}} {done / _MIB:.1f} of {size / _MIB:.1f} MiB"
        if done < size:
            speed = (done - self._begin) / max(now - self._since, 0.001) / _MIB
            shown += f", {speed:.1f} MiB/s"
        print(f"\r\033[K{shown}", end="", file=sys.stderr, flush=True)

    @property
    def has_sent(self) -> bool:
        """Whether something was sent."""
        return self._what in ("sending", "checking")

    def end(self) -> None:
        """Leave the line empty."""
        if self._is_shown and self._what:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

"""The `reglue` command: finds the package that brings a command and runs it.

Commands are entry points of the group `reglue.commands`, loaded when called, so
that the SDK alone can join and everything else says which extra it needs.
"""

from __future__ import annotations

import argparse
import atexit
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points, version

from reglue import process_tuning
from reglue.errors import MissingExtra
from reglue_script import hear_ctrl_c, leave_at_ctrl_c

_ABOUT = {
    "join": "play an agent at a glue",
    "bakeoff": "several agents over the same plan, and who is better",
    "bench": "evaluate an agent on a benchmark",
    "benchmarks": "list the benchmarks",
    "cache": "show or clear what is kept on disk to be fast",
    "conformance": "does a client of your own keep the rules of the protocol?",
    "glue": "join whoever comes: an agent, an environment and a benchmark program",
    "try": "rehearse: a few episodes, and what would fail",
    "watch": "play a recorded episode again, with pictures",
    "report": "draw report.html of one run, or compare several",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. 2 for wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands = {point.name: point for point in entry_points(group="reglue.commands")}
    options = _parser(commands).parse_args(arguments[:1])
    point = commands[options.command]
    try:
        with process_tuning.collecting_seldom(), _told(point.name):
            command = point.load()
    except (ModuleNotFoundError, MissingExtra) as error:
        extra = ",".join(point.extras) or "server"
        print(
            f"reglue {point.name} needs {error.name}: pip install 'reglue[{extra}]'",
            file=sys.stderr,
        )
        return 2
    hear_ctrl_c()
    return int(command(arguments[1:]) or 0)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Says in a terminal what is loaded, for as long as that takes: seconds on a busy machine."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"loading reglue {name} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _parser(commands: dict[str, EntryPoint]) -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<12}{_ABOUT.get(name, '')}" for name in sorted(commands))
    parser = argparse.ArgumentParser(
        prog="reglue",
        description="Joins agents, environments and benchmarks, and says how well agents do.",
        epilog=f"commands:\n{listing}\n\n`reglue COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reglue {version('reglue')}")
    parser.add_argument("command", choices=sorted(commands), metavar="COMMAND")
    return parser


def script() -> None:
    """The console script: Ctrl-C at any time leaves with 130."""
    leave_at_ctrl_c()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        sys.stdout.flush()
        leave_at_ctrl_c()  # what is left to do is Python's own
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # which drops handlers
        process_tuning.exit_without_collecting()


if __name__ == "__main__":
    script()

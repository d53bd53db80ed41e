"""The `reglue` command: finds the package of a subcommand and runs it.

Subcommands are entry points of the group `reglue.commands`. They load when called: the SDK
alone can join, and every other command names the extra that it needs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version

from reglue import process_tuning
from reglue.errors import UnknownName
from reglue.tools.loading_modules import NotInstalled, loading
from reglue.tools.outputs import keep_outputs
from reglue.tools.parser import Parser
from reglue_signals import ignore_ctrl_c_at_exit, leave_at_ctrl_c

ABOUT = {
    "join": "play an agent or an environment at a glue",
    "bakeoff": "run several agents on one plan and compare them",
    "bench": "evaluate an agent on a benchmark",
    "benchmarks": "list the benchmarks",
    "bridge": "connect programs that speak another protocol",
    "cache": "show or clear the cache on disk",
    "competition": "host a competition: hidden tasks, teams, a leaderboard",
    "completion": "print a script that completes commands and flags in your shell",
    "conformance": "check a client of your own against the protocol",
    "dataset": "show, export and replay what `bench --record` recorded",
    "export": "write a run's rows as CSV, JSON lines or Parquet",
    "glue": "serve agents, environments and benchmark programs",
    "kit": "write a project for an agent of yours, in any language",
    "submit": "hand an agent in to a competition that plays it",
    "try": "rehearse a run: play a few short episodes, and say what would fail",
    "verify": "play a competition's run again, and say whether its score stands",
    "watch": "replay a recorded episode, with pictures",
    "report": "draw report.html of one run, or compare several",
}

EXAMPLES = """examples:
  reglue bench MT10 --agent random --out runs/mine     play a benchmark
  reglue bench evaluate:gymnasium:CartPole-v1 --agent my_agent.py:MyAgent
  reglue report runs/mine                              draw its scores"""

_OPTIONS = ("-h", "--help", "--version")

COMPLETE = "_REGLUE_COMPLETE"
"""A shell that wants to know what may come next sets this environment variable."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 2 for wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands = {point.name: point for point in entry_points(group="reglue.commands")}
    if COMPLETE in os.environ:
        commands["completion"].load()()
    parser = _parser(commands)
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    if arguments[0].startswith("-") and arguments[0] not in _OPTIONS:
        parser.error(str(UnknownName("option", arguments[0], _OPTIONS)))
    name = parser.parse_args(arguments[:1]).command
    if name not in commands:
        parser.error(str(UnknownName("command", name, commands)))
    point = commands[name]
    try:
        with loading():
            command = point.load()
        if argv is None:
            del sys.argv[1:]  # a user's module that parses it finds none of our words
        return int(command(arguments[1:]) or 0)
    except NotInstalled as missing:
        extra = ",".join(point.extras) or "server"
        print(
            f"reglue {point.name} needs {missing}: pip install 'reglue[{extra}]'",
            file=sys.stderr,
        )
        return 2


def _parser(commands: dict[str, EntryPoint]) -> Parser:
    listing = "\n".join(f"  {name:<12}{ABOUT.get(name, '')}" for name in sorted(commands))
    parser = Parser(
        prog="reglue",
        description="Connects agents, environments and benchmarks, and scores the agents.",
        epilog=f"commands:\n{listing}\n\n{EXAMPLES}\n\n`reglue COMMAND --help` shows more of it, "
        "with examples.\n\n"
        "exit codes: 0 success; 1 a run, a peer or a check failed; 2 wrong usage; 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reglue {version('reglue')}")
    parser.add_argument("command", metavar="COMMAND")
    return parser


def script() -> None:
    """The console script: Ctrl-C at any time leaves with 130."""
    leave_at_ctrl_c()
    keep_outputs()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        sys.stdout.flush()
        leave_at_ctrl_c()  # what is left to do is Python's own
        ignore_ctrl_c_at_exit()
        process_tuning.exit_without_collecting()


if __name__ == "__main__":
    script()

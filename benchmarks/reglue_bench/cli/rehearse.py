"""`reglue try`: rehearse a run."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from typing import Annotated, Any

from typer import Argument, Exit

from glue_server.commands.command import FAULTS, OK, Command
from glue_server.commands.flags import takes
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import MARKS, AsJson, print_document
from reglue_bench.settings import AgentSettings, Settings, read_settings

_LIMITS = {"connect_timeout": 60.0, "first_step_timeout": 120.0}
"""Seconds: shorter than those of a run."""


@takes(Settings, [*AgentSettings.model_fields, *Settings.model_fields])
def try_(
    benchmark: Annotated[
        str, Argument(help="what the agent will be judged on, as in `reglue bench`")
    ] = "MT10",
    *,
    flags: dict[str, Any],
    json: AsJson = False,
) -> None:
    """Rehearse a run: play a few short episodes, and say what would fail.

    It also says whether a second run is the same, else whether the environment or the agent is the
    cause, whether the agent reads observations that are no longer its own, and whether extreme
    actions make the environment fail. It takes about a minute, saves nothing and gives no score.
    The flags are those of `reglue bench`.

    reglue try MT10 --agent my_agent.py:MyAgent

    Exit codes: 0 ready; 1 the run would fail; 2 wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.rehearsal import rehearse
        from reglue_bench.terminal.progress import watcher

    if not flags.get("agent") and not flags.get("agent_cmd"):
        raise UsageError("no agent: give --agent NAME, or --agent-cmd PROGRAM")
    output = console(stderr=json)
    settings = read_settings(**{"benchmark": benchmark, **_LIMITS, **flags})
    checks = rehearse(settings, watcher(output))
    for check in checks:
        output.print(MARKS[check.passed], end=" ")
        say(check.what, output)
    failed = any(check.passed is False for check in checks)
    output.print("the run would fail" if failed else f"ready: reglue bench {benchmark} …")
    if json:
        print_document(dumps({"ready": not failed, "checks": [asdict(check) for check in checks]}))
    raise Exit(FAULTS if failed else OK)


main = Command(try_)

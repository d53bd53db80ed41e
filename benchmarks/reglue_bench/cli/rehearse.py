"""`reglue try`: rehearse a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, OK, console, run_command
from reglue.errors import UsageError
from reglue.tools.join import pairs
from reglue_bench.cli.arguments import Sandbox, SandboxRead, environment_arguments
from reglue_bench.runs.rehearsal import rehearse
from reglue_bench.settings import read_settings
from reglue_bench.terminal.progress import watcher

_MARKS = {True: "[green]✓[/green]", False: "[red]✗[/red]", None: "[yellow]![/yellow]"}


def try_(
    agent: Annotated[
        str | None, Argument(help="file.py:Class, package.module:Class, or an example")
    ] = None,
    benchmark: Annotated[str, Option(help="what it will be judged on")] = "MT10",
    agent_cmd: Annotated[
        str | None, Option(help="any program that dials in, in place of AGENT")
    ] = None,
    agent_arg: Annotated[
        list[str] | None, Option(metavar="KEY=VALUE", help="keyword of the agent's constructor")
    ] = None,
    environment_arg: Annotated[
        list[str] | None,
        Option(metavar="KEY=VALUE", help="keyword of an environment such as online:mountain-car"),
    ] = None,
    seed: Annotated[int | None, Option(help="of the goals and of all chance (default 0)")] = None,
    slots: Annotated[int | None, Option(help="episodes the agent plays at once")] = None,
    meta_batch_size: Annotated[int | None, Option(help="ML: trials played together")] = None,
    split: Annotated[str | None, Option(help="train or test")] = None,
    one_hot: Annotated[bool | None, Option(help="append the task's one-hot")] = None,
    goal_visible: Annotated[
        bool | None, Option("--goal-visible/--goal-hidden", help="show the goal's position")
    ] = None,
    recurrent_info: Annotated[
        bool, Option("--recurrent-info", help="append last action, reward and end flag")
    ] = False,
    observation_dtype: Annotated[str, Option(help="float64 or float32")] = "float64",
    reveal_tasks: Annotated[bool, Option("--reveal-tasks", help="add a tensor `task`")] = False,
    step_timeout: Annotated[float, Option(help="seconds for a turn")] = 60.0,
    sandbox: Sandbox = None,
    sandbox_read: SandboxRead = None,
) -> None:
    """Rehearse: a few short episodes, and what would fail.

    Takes about a minute. Nothing is kept, and no score is given.

    reglue try my_agent.py:MyAgent --benchmark MT10
    """
    if agent is None and agent_cmd is None:
        raise UsageError("no agent: give file.py:Class, an example, or --agent-cmd PROGRAM")
    settings = read_settings(
        benchmark=benchmark,
        agent=agent,
        agent_cmd=agent_cmd,
        agent_args=pairs(agent_arg or []),
        environment_args=environment_arguments(environment_arg or []),
        seed=seed,
        slots=slots,
        meta_batch_size=meta_batch_size,
        split=split,
        one_hot=one_hot,
        goal_visible=goal_visible,
        recurrent_info=recurrent_info,
        observation_dtype=observation_dtype,
        reveal_tasks=reveal_tasks,
        step_timeout=step_timeout,
        sandbox=sandbox,
        sandbox_read=sandbox_read or [],
        connect_timeout=60.0,
        first_step_timeout=120.0,
    )
    checks = rehearse(settings, watcher(console()))
    for check in checks:
        console().print(_MARKS[check.passed], end=" ")
        console().print(check.what, markup=False, highlight=False, soft_wrap=True)
    failed = any(check.passed is False for check in checks)
    console().print("it would fail" if failed else f"ready: reglue bench {benchmark} …")
    raise Exit(FAULTS if failed else OK)


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    run_command(try_, sys.argv[1:] if argv is None else argv)

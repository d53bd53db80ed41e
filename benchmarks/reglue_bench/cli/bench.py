"""`reglue bench`: evaluate an agent on a benchmark."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, INTERRUPTED, OK, console, run_command
from glue_server.commands.options import (
    Advertise,
    Ca,
    EnvironmentToken,
    Insecure,
    OpenUnixSocket,
    ReconnectWindow,
    Tls,
    TlsCert,
    TlsKey,
    Token,
    TransportOption,
)
from reglue.errors import UsageError
from reglue.tools.join import pairs
from reglue_bench.cli.arguments import (
    Sandbox,
    SandboxImage,
    SandboxRead,
    TrustCode,
    environment_arguments,
)
from reglue_bench.evaluation import plan_and_start
from reglue_bench.evaluation import resume as resume_run
from reglue_bench.plans.names import is_custom
from reglue_bench.results.result import Result
from reglue_bench.settings import read_settings
from reglue_bench.terminal.progress import watcher
from reglue_bench.terminal.summary import print_summary

_AGENT, _PLAY, _SEE, _META, _ONLINE, _HOW = (
    "The agent",
    "What is played",
    "What the agent sees (MT…, ML…)",
    "Meta-learning (ML…)",
    "Learning online (online:…)",
    "How it is carried out (changes no result)",
)


def bench(
    benchmark: Annotated[
        str | None,
        Argument(
            help="MT10, ML45, MT1:reach-v3, …, or PROCEDURE:ENVIRONMENT such as "
            "online:mountain-car, PROCEDURE:wait for an environment that dials in, or file.toml, a "
            "benchmark of your own: see `reglue benchmarks`"
        ),
    ] = None,
    agent: Annotated[
        str | None,
        Option(
            help="file.py:Class, package.module:Class, an example (random, expert, "
            "reach_adapt), or `wait` for one that dials in",
            rich_help_panel=_AGENT,
        ),
    ] = None,
    agent_cmd: Annotated[
        str | None,
        Option(
            help="any program that dials in; it finds REGLUE_ADDRESS and REGLUE_TOKEN "
            "in its environment",
            rich_help_panel=_AGENT,
        ),
    ] = None,
    agent_arg: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUE",
            help="keyword of the agent's constructor; repeat for more. The file named by "
            "`checkpoint=` is hashed into the result",
            rich_help_panel=_AGENT,
        ),
    ] = None,
    agent_env: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="an environment variable that the agent's program is given too; repeat for more. "
            "It finds PATH, HOME, language, threads, GPUs and the like, and no other",
            rich_help_panel=_AGENT,
        ),
    ] = None,
    label: Annotated[
        str | None, Option(help="what reports call the agent", rich_help_panel=_AGENT)
    ] = None,
    training_seed: Annotated[
        int | None,
        Option(
            help="of this checkpoint: reports join the runs of one label over them",
            rich_help_panel=_AGENT,
        ),
    ] = None,
    out: Annotated[
        Path | None, Option(help="the run's folder (default: a new one in runs/)")
    ] = None,
    resume: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="continue the run in this folder, as it was begun"),
    ] = None,
    retry_faults: Annotated[
        bool,
        Option(
            "--retry-faults",
            help="with --resume: play units with a failed episode anew (ML: whole waves, "
            "online: whole runs); the new try counts",
        ),
    ] = False,
    trust_code: TrustCode = False,
    seed: Annotated[
        int | None, Option(help="of the goals and of all chance (default 0)", rich_help_panel=_PLAY)
    ] = None,
    split: Annotated[
        str | None, Option(help="train or test (default: ML test)", rich_help_panel=_PLAY)
    ] = None,
    slots: Annotated[
        int | None,
        Option(
            help="episodes the agent plays at once (default 10; MT: up to 500; ML: the meta-batch)",
            rich_help_panel=_PLAY,
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        Option(
            metavar="goals|metaworld",
            help="goals (default): every goal its episodes; metaworld: goals as its vector "
            "environments draw them, and its score beside ours",
            rich_help_panel=_PLAY,
        ),
    ] = None,
    num_episodes: Annotated[
        int | None,
        Option(help="MT: episodes a task (default: one a goal, 50)", rich_help_panel=_PLAY),
    ] = None,
    episode_horizon: Annotated[
        int | None,
        Option(help="MT, ML: steps to truncation, at most 500 (default)", rich_help_panel=_PLAY),
    ] = None,
    environment_arg: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUE",
            help="keyword of the environment in PROCEDURE:ENVIRONMENT; repeat for more",
            rich_help_panel=_PLAY,
        ),
    ] = None,
    num_evals: Annotated[
        int | None,
        Option(help="waves (default: until 40 goals a task are played)", rich_help_panel=_META),
    ] = None,
    adaptation_steps: Annotated[
        int | None,
        Option(help="adapt() calls a trial (default 1; 0 is legal)", rich_help_panel=_META),
    ] = None,
    adaptation_episodes: Annotated[
        int | None,
        Option(help="episodes before each adapt() (default 10)", rich_help_panel=_META),
    ] = None,
    evaluation_episodes: Annotated[
        int | None, Option(help="judged episodes a trial (default 3)", rich_help_panel=_META)
    ] = None,
    meta_batch_size: Annotated[
        int | None, Option(help="trials played together (default 20)", rich_help_panel=_META)
    ] = None,
    evaluate_before_adaptation: Annotated[
        bool | None,
        Option(
            "--evaluate-before-adaptation",
            help="judge each trial before it adapts as well",
            rich_help_panel=_META,
        ),
    ] = None,
    worst_performance: Annotated[
        float | None,
        Option(
            help="what a run (or a judged episode's return) is worth that the agent's own fault "
            "ended (default: the least that the environment's rewards allow; without a least "
            "reward the score is withheld)",
            rich_help_panel=_PLAY,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        Option(
            help="independent runs, each from a naive agent (default 30)", rich_help_panel=_ONLINE
        ),
    ] = None,
    episodes: Annotated[
        int | None, Option(help="of a run (default 200)", rich_help_panel=_ONLINE)
    ] = None,
    steps: Annotated[
        int | None,
        Option(
            help="of a run, in place of --episodes: for continuing tasks, or a single long episode",
            rich_help_panel=_ONLINE,
        ),
    ] = None,
    episode_limit: Annotated[
        int | None,
        Option(
            help="steps after which an episode is cut off, which is no end to the agent "
            "(RL_episode's limit; default 10,000,000)",
            rich_help_panel=_ONLINE,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        Option(
            metavar="all|final:N",
            help="a run's performance is its mean return over all its episodes (default), or "
            "over the last N; with --steps, its mean reward per step",
            rich_help_panel=_ONLINE,
        ),
    ] = None,
    one_hot: Annotated[
        bool | None,
        Option(
            help="append the task's one-hot (default: MT with several tasks)", rich_help_panel=_SEE
        ),
    ] = None,
    goal_visible: Annotated[
        bool | None,
        Option(
            "--goal-visible/--goal-hidden",
            help="show the goal's position (default: MT; in ML a baseline)",
            rich_help_panel=_SEE,
        ),
    ] = None,
    recurrent_info: Annotated[
        bool | None,
        Option(
            "--recurrent-info",
            help="append last action, reward and end flag (recurrent_info_in_obs)",
            rich_help_panel=_SEE,
        ),
    ] = None,
    observation_dtype: Annotated[
        str | None,
        Option(
            help="float64 (default), or float32 as Meta-World's with a one-hot",
            rich_help_panel=_SEE,
        ),
    ] = None,
    reveal_tasks: Annotated[
        bool | None,
        Option(
            "--reveal-tasks",
            help="add a tensor `task`; marks the result as a baseline",
            rich_help_panel=_SEE,
        ),
    ] = None,
    secret: Annotated[
        str | None,
        Option(
            envvar="REGLUE_SECRET",
            show_envvar=False,
            help="keys goals, cells, start seeds and the order of trials (default: they follow "
            "from --seed). Give one when you host agents of others; better in $REGLUE_SECRET",
            rich_help_panel=_SEE,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        Option(
            help="environment processes (default: the cores, online 0; 0: none, and an "
            "environment that hangs is waited for until Ctrl-C)",
            rich_help_panel=_HOW,
        ),
    ] = None,
    listen: Annotated[
        str | None,
        Option(
            metavar="HOST:PORT",
            help="where agents and environments dial in (default 127.0.0.1, any port)",
            rich_help_panel=_HOW,
        ),
    ] = None,
    connect_timeout: Annotated[
        float | None,
        Option(help="seconds for the agent, or environment, to come (300)", rich_help_panel=_HOW),
    ] = None,
    first_step_timeout: Annotated[
        float | None,
        Option(help="seconds for init, adapt and the first turn (300)", rich_help_panel=_HOW),
    ] = None,
    step_timeout: Annotated[
        float | None, Option(help="seconds for every other turn (60)", rich_help_panel=_HOW)
    ] = None,
    environment_timeout: Annotated[
        float | None,
        Option(
            help="seconds for each call of environments, in workers or dialled in (300)",
            rich_help_panel=_HOW,
        ),
    ] = None,
    bank: Annotated[
        float | None,
        Option(
            help="seconds that an agent's slow turns may draw on (0; online: in each run)",
            rich_help_panel=_HOW,
        ),
    ] = None,
    adapt_budget: Annotated[
        float | None,
        Option(
            help="seconds that adapting may take in each wave (default: no limit)",
            rich_help_panel=_HOW,
        ),
    ] = None,
    run_budget: Annotated[
        float | None,
        Option(
            help="seconds that an agent may take in all (default: no limit; online: in each run)",
            rich_help_panel=_HOW,
        ),
    ] = None,
    token: Token = None,
    environment_token: EnvironmentToken = None,
    advertise: Advertise = None,
    tls: Tls = None,
    insecure: Insecure = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    ca: Ca = None,
    reconnect_window: ReconnectWindow = None,
    transport: TransportOption = None,
    open_unix_socket: OpenUnixSocket = None,
    sandbox: Sandbox = None,
    sandbox_image: SandboxImage = None,
    sandbox_read: SandboxRead = None,
) -> None:
    """Evaluate an agent on a benchmark.

    The agent plays in a process of its own. Every episode (online: every run) is
    committed to the run's folder as it ends, so that `--resume` continues after any
    crash, and `result.json` holds the score.

    reglue bench MT10 --agent expert --seed 42 --out runs/mt10

    reglue bench online:mountain-car --agent sarsa.py:Sarsa --runs 30 --episodes 200

    Exit codes: 0 every planned episode was played; 1 finished with faults, or in
    part; 2 wrong usage; 130 interrupted.
    """
    asked = {name: value for name, value in locals().items() if value is not None}
    for name in ("out", "resume", "retry_faults", "trust_code", "agent_arg", "environment_arg"):
        asked.pop(name, None)
    if agent_arg:
        asked["agent_args"] = pairs(agent_arg)
    if environment_arg:
        asked["environment_args"] = environment_arguments(environment_arg)
    if resume is not None:
        if out is not None:
            raise UsageError("--resume names the run's folder already: leave --out away")
        folder = resume
        result = resume_run(
            folder,
            watcher(console()),
            retry_faults=retry_faults,
            trust_code=trust_code,
            **asked,
        )
    else:
        if trust_code:
            raise UsageError("--trust-code goes with --resume FOLDER")
        folder, result = _start(asked, out, retry_faults)
    print_summary(console(), result)
    console().print(
        f"{folder / 'result.json'}; `reglue report {folder}` draws it",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    raise Exit(exit_code(result))


def exit_code(result: Result) -> int:
    """0 every planned cell was played; 1 not all, or with faults; 130 interrupted."""
    if result.ended_early is not None and result.ended_early.status == "interrupted":
        return INTERRUPTED
    return OK if result.complete and not result.faults else FAULTS


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    run_command(bench, sys.argv[1:] if argv is None else argv)


def _start(asked: dict[str, Any], out: Path | None, retry_faults: bool) -> tuple[Path, Result]:
    if retry_faults:
        raise UsageError("--retry-faults goes with --resume FOLDER")
    if "benchmark" not in asked:
        raise UsageError("no benchmark: give one of `reglue benchmarks`, or --resume FOLDER")
    if not asked.get("agent") and not asked.get("agent_cmd"):
        raise UsageError("no agent: give --agent NAME, --agent-cmd PROGRAM, or --agent wait")
    settings = read_settings(**asked)
    watching = watcher(console())
    watching.say(f"loading {settings.benchmark} and its environments")  # which takes seconds
    folder = out or _new_folder(settings.benchmark, settings.agent or "program")
    return folder, plan_and_start(folder, settings, watching)


def _new_folder(benchmark: str, agent: str) -> Path:
    played = Path(benchmark).stem if is_custom(benchmark) else benchmark
    name = re.sub(r"[^\w.-]+", "-", f"{played}-{agent}")
    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"

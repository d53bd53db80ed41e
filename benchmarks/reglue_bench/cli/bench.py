"""`reglue bench`: evaluate an agent on a benchmark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from glue_server.commands.command import Command
from glue_server.commands.flags import takes
from glue_server.console import console, say
from reglue.errors import UsageError
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson, TrustCode, exit_code, new_folder, print_document
from reglue_bench.plan_settings import TRAINING_PANEL
from reglue_bench.settings import AgentSettings, Settings, read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from reglue_bench.results.result import Result
    from reglue_bench.runs.run import Retry


@takes(Settings, [*AgentSettings.model_fields, *Settings.model_fields])
def bench(
    benchmark: Annotated[
        str | None,
        Argument(
            help="MT10, ML45, MT1:reach-v3, …; PROCEDURE:ENVIRONMENT, such as "
            "online:mountain-car; PROCEDURE:wait for an environment that connects by itself; or "
            "file.toml, a benchmark of your own. `reglue benchmarks` lists them"
        ),
    ] = None,
    *,
    flags: dict[str, Any],
    out: Annotated[
        Path | None, Option(help="folder of the run, new or empty (default: a new one in runs/)")
    ] = None,
    resume: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="continue the run in this folder with its settings"),
    ] = None,
    training_seeds: Annotated[
        int | None,
        Option(
            min=2,
            help="play so many training seeds of the agent, a run each in the folder, and say what "
            "they have in common: mean, interquartile mean and their intervals (from five on)",
            rich_help_panel=TRAINING_PANEL,
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        Option(
            min=1,
            help="with --training-seeds: runs that are played at the same time, on shared cores",
            rich_help_panel=TRAINING_PANEL,
        ),
    ] = None,
    log: Annotated[
        list[str] | None,
        Option(
            metavar="NAME[:WHERE]",
            rich_help_panel="Recording",
            help="tell the score to tensorboard[:FOLDER], wandb[:PROJECT] or mlflow[:EXPERIMENT]; "
            "may be repeated",
        ),
    ] = None,
    json: AsJson = False,
    retry_faults: Annotated[
        bool,
        Option(
            "--retry-faults",
            help="with --resume: play units with a failed episode again (ML: whole waves, online: "
            "whole runs); the new try counts",
            rich_help_panel="Resuming a run",
        ),
    ] = False,
    retry_environment_faults: Annotated[
        bool,
        Option(
            "--retry-environment-faults",
            help="the same, only where an environment failed: the agent's faults stay",
            rich_help_panel="Resuming a run",
        ),
    ] = False,
    trust_code: TrustCode = False,
) -> None:
    """Evaluate an agent on a benchmark.

    The agent plays in its own process. Every episode (online: every run) is saved in the run's
    folder when it ends, so `--resume` continues after any crash. `result.json` holds the score.

    reglue bench MT10 --agent expert --seed 42 --out runs/mt10

    reglue bench online:mountain-car --agent sarsa.py:Sarsa --runs 30 --episodes 200

    With `--train-steps` the agent trains first, on the benchmark's training goals, is frozen, and
    is judged by the same process. Such a run is resumed as a whole: an agent that is gone has lost
    what it learned.

    reglue bench MT10 --agent mine.py:Agent --train-steps 1e6 --eval-every 1e5 --training-seeds 5

    Exit codes: 0 every planned episode was played; 1 finished with faults, or not complete; 2
    wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.bakeoff.seed_runs import holds_seeds
        from reglue_bench.evaluation import resume as resume_run
        from reglue_bench.loggers import Loggers
        from reglue_bench.terminal.progress import watcher
        from reglue_bench.terminal.summary import print_summary

    output = console(stderr=json)
    retry: Retry = "all" if retry_faults else "environment" if retry_environment_faults else "none"
    retry_flag = "--retry-faults" if retry_faults else "--retry-environment-faults"
    if benchmark is not None:
        flags["benchmark"] = benchmark
    if training_seeds is not None or (resume is not None and holds_seeds(resume)):
        if json or log or retry != "none":
            flag = "--json" if json else "--log" if log else retry_flag
            raise UsageError(f"{flag} is for a single run: give it with --resume FOLDER/seed-N")
        raise Exit(
            _play_seeds(flags, out, resume, output, count=training_seeds, at_once=at_once or 1)
        )
    if at_once is not None:
        raise UsageError("--at-once goes with --training-seeds N")
    loggers = Loggers(log)
    if resume is not None:
        if out is not None:
            raise UsageError("--resume names the run's folder already: omit --out")
        folder = resume
        result = resume_run(
            folder,
            watcher(output),
            retry_faults=retry,
            trust_code=trust_code,
            **flags,
        )
    else:
        if trust_code or retry != "none":
            flag = "--trust-code" if trust_code else retry_flag
            raise UsageError(f"{flag} goes with --resume FOLDER")
        folder, result = _start(flags, out, output)
    loggers(result)
    print_summary(output, result)
    say(f"{folder / 'result.json'}; `reglue report {folder}` draws it", output)
    if json:
        print_document((folder / "result.json").read_text(encoding="utf-8"))
    raise Exit(exit_code(result))


main = Command(bench)


def _play_seeds(
    flags: dict[str, Any],
    out: Path | None,
    resume: Path | None,
    output: Console,
    *,
    count: int | None,
    at_once: int,
) -> int:
    from reglue_bench.bakeoff.seed_runs import seeded, seeded_before

    if resume is None:
        assert count is not None
        settings = _settings(flags)
        entrants = seeded(settings, count)
        folder = out or new_folder(_name(settings))
    else:
        if out is not None or count is not None:
            flag = "--out" if count is None else "--training-seeds"
            raise UsageError(f"--resume names the runs already: omit {flag}")
        folder, entrants = resume, seeded_before(resume, flags)
    # Imported here: one run draws no report, and need not load what does.
    from reglue_bench.cli.training_seeds import play_seeds

    return play_seeds(entrants, folder, output, at_once=at_once, resume=resume is not None)


def _settings(flags: dict[str, Any]) -> Settings:
    if "benchmark" not in flags:
        raise UsageError("no benchmark: give one of `reglue benchmarks`, or --resume FOLDER")
    if not flags.get("agent") and not flags.get("agent_cmd"):
        raise UsageError("no agent: give --agent NAME, --agent-cmd PROGRAM, or --agent wait")
    return read_settings(**flags)


def _start(flags: dict[str, Any], out: Path | None, output: Console) -> tuple[Path, Result]:
    from reglue_bench.evaluation import plan_and_start
    from reglue_bench.terminal.progress import watcher

    settings = _settings(flags)
    watching = watcher(output)
    watching.say(f"loading {settings.benchmark} and its environments")  # which takes seconds
    folder = out or new_folder(_name(settings))
    return folder, plan_and_start(folder, settings, watching)


def _name(settings: Settings) -> str:
    from reglue_bench.benchmark.benchmark_source import is_file

    benchmark = settings.benchmark
    played = Path(benchmark).stem if is_file(benchmark) else benchmark
    return re.sub(r"[^\w.-]+", "-", f"{played}-{settings.agent or 'program'}")

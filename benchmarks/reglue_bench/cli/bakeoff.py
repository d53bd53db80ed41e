"""`reglue bakeoff`: several agents over the same plan, and who is better."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from glue_server.commands.command import FAULTS, OK, Command
from glue_server.commands.flags import takes
from glue_server.console import console
from glue_server.host_settings import HostSettings
from reglue.errors import UsageError, settings_of
from reglue.tools.loading_modules import loading
from reglue_bench.cli.shared_flags import AsJson, new_folder
from reglue_bench.settings import SandboxSettings, Settings

_FLAGS = [
    *("engine", "environments", "processes", "connect_timeout"),
    *SandboxSettings.model_fields,
    *HostSettings.model_fields,  # without `token`: each agent has its own
    "secret",
]


@takes(Settings, _FLAGS)
def bakeoff(
    file: Annotated[Path, Argument(metavar="BAKEOFF.TOML", help="the benchmark and the agents")],
    *,
    flags: dict[str, Any],
    out: Annotated[
        Path | None,
        Option(help="a folder for a run of each agent and report.html (default: new in runs/)"),
    ] = None,
    resume: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="continue the runs in this folder, and begin those that are missing; finished "
            "units are not played again",
        ),
    ] = None,
    at_once: Annotated[
        int,
        Option(
            min=1,
            help="agents that play at the same time and share the cores; only agents that exceed a "
            "time limit get other results",
        ),
    ] = 1,
    json: AsJson = False,
) -> None:
    """Play several agents over the same plan, and say which is better.

    Each agent plays in its own process, in any language, and has its own run in `--out`. One
    agent's failure does not stop the others, and one that cannot be started or cannot play the
    benchmark has no run and no rank. At the end a table and report.html compare every
    agent with the first, goal by goal or run by run, and say which is best and whether that is
    significant.

    ```toml
    # flags of `reglue bench`, with underscores
    [benchmark]
    name = "MT10"
    seed = 42

    # an example, file.py:Class or package.module:Class
    [agents.mine]
    agent = "my_agent.py:MyAgent"
    agent_args = { gain = 8, checkpoint = "w.npz" }
    label = "mine, gain 8"

    # a program that connects to $REGLUE_ADDRESS with $REGLUE_TOKEN
    [agents.cpp]
    agent_cmd = "./build/my_agent"

    # one that connects by itself, with the token in this variable or in
    # token_file = "far.token"; without either a random token is printed
    [agents.far]
    wait = true
    token_env = "REGLUE_TOKEN_FAR"
    ```

    Paths are relative to the file. Reports call an agent by its `label`, and combine the runs of
    one label over their `training_seed`. With `training_seeds = 5` in [benchmark], an agent plays a
    run for each seed if it trains (`train_steps = 1e6`), or is told the seed
    (`agent_args = { checkpoint = "seed-{training_seed}.zip" }`); others play once.

    reglue bakeoff bakeoff.toml --out runs/bakeoff

    reglue bakeoff bakeoff.toml --resume runs/bakeoff

    Agents with `wait` connect at one address, each with its own token, in any order and at any
    time; one that connects early waits for its turn. gRPC's health service answers there during
    the whole bake-off:

    reglue bakeoff bakeoff.toml --out runs/bakeoff --listen 0.0.0.0:4096 --tls

    An environment may connect by itself, too, before anybody plays, and plays one run after
    another: `name = "multi-task:wait"`, with its token in $REGLUE_ENVIRONMENT_TOKEN.

    `--json` prints what `reglue report --json` does of all runs, unless it is interrupted.

    Exit codes: 0 every agent played the whole plan; 1 one of them did not, or had faults; 2
    wrong usage; 130 interrupted.
    """
    with loading():
        from reglue_bench.bakeoff import Bakeoff, read_bakeoff
        from reglue_bench.bakeoff.bakeoff_file import BENCHMARK
        from reglue_bench.cli.bakeoff_screen import Screen, conclude
        from reglue_bench.terminal.progress import watcher

    if resume and out:
        raise UsageError("--resume names the folder already: omit --out")
    entrants = read_bakeoff(file, flags)
    folder = resume or out or new_folder(file.stem)
    output = console(stderr=json)
    screen = Screen(output, entrants, together=at_once > 1)
    with Bakeoff(entrants, folder, screen.say, at_once=at_once) as played:
        with settings_of(f"{file}: [benchmark]", BENCHMARK - flags.keys()):
            played.prepare(watcher(screen.console), resume=resume is not None)
        results = played.play(screen)
    code = conclude(screen, folder, results, of=len(entrants) - len(played.refused), json=json)
    raise Exit(FAULTS if code == OK and played.refused else code)


main = Command(bakeoff)

"""`reglue bridge dm-env-rpc`."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from reglue.errors import BadArgument, setting
from reglue.tools.keyword_words import keywords_of, pairs

_LOOK_S = 0.2  # a signal that the kernel hands to another thread waits for the main one


def dm_env_rpc(
    benchmark: Annotated[
        str, typer.Argument(help="a benchmark, or an environment by its name", metavar="BENCHMARK")
    ],
    listen: Annotated[
        str, typer.Option(help="address that clients connect to; port 0 takes any")
    ] = "127.0.0.1:9911",
    worlds: Annotated[int, typer.Option(help="worlds, and connections, at a time")] = 16,
    seed: Annotated[int, typer.Option(help="seed of goals and episodes")] = 0,
    environment_arg: Annotated[
        list[str], typer.Option(help="argument of the environment; repeatable", metavar="KEY=VALUE")
    ] = [],  # noqa: B006 - Typer copies it
) -> None:
    """Serve a benchmark's training goals to clients of dm_env_rpc.

    A client creates a world, joins it and steps it; each world is an environment of its own, as
    `reglue.make` makes it. The setting `seed` of create_world chooses a world's episodes. Anybody
    who reaches the port can connect: there is no token and no TLS.

    reglue bridge dm-env-rpc MT10 --listen 127.0.0.1:9911

    A server of dm_env_rpc needs no command: it is an environment, such as
    `evaluate:dm-env-rpc:127.0.0.1:9911`.

    Exit codes: 0 never, as it serves until Ctrl-C; 1 the benchmark failed; 2 wrong usage, or a
    package is missing; 130 interrupted.
    """
    import reglue
    from reglue.bridges.dm_env_rpc.world_service import TrainingEnv, WorldService, serving

    if worlds < 1:
        raise BadArgument(setting("worlds"), got=worlds, wanted="1 or more")

    options: dict[str, Any] = {"seed": seed, "raise_faults": False}
    if environment_arg:
        options["environment_args"] = keywords_of(pairs(environment_arg, "--environment-arg"))

    def make() -> TrainingEnv:
        return reglue.make(benchmark, **options)

    first = make()
    first.close()
    with serving(WorldService(make, first.task_spec, worlds), listen, worlds) as address:
        typer.echo(f"listening at {address} for clients of dm_env_rpc; Ctrl-C ends it")
        while True:
            time.sleep(_LOOK_S)

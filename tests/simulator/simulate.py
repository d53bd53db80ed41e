"""`python -m tests.simulator`: plays seeds, and shows what fails."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from tests.simulator.failed_seeds import FILE, FailedSeed, failed_seeds
from tests.simulator.faults import FAULTS
from tests.simulator.simulated_seed import Played, play, shrunk
from tests.simulator.worlds import WORLDS

_EVERY = 50  # seeds, after which progress is shown


def main(
    *,
    world: Annotated[
        str, typer.Option(help=f"{', '.join(WORLDS)}; by default every one, or the fault's")
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, help="how many, of each world")] = 1000,
    first: Annotated[int, typer.Option("--from", help="the first seed")] = 0,
    fault: Annotated[
        str, typer.Option(help=f"put back a fault that is to be found: {', '.join(FAULTS)}")
    ] = "",
    failed: Annotated[
        bool, typer.Option("--failed", help=f"play the seeds of {FILE.name} alone")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="show every run")] = False,
) -> None:
    """Play runs of the real program with simulated threads, time, processes and network.

    A seed draws a run: when processes start, the order of threads, and disturbances. The first run
    in which a property does not hold is shown, with as few disturbances as it needs, and ends the
    command with exit code 1. The same seed shows it again: --world WORLD --from SEED --seeds 1
    """
    for got, known in ((world, WORLDS), (fault, FAULTS)):
        if got and got not in known:
            raise typer.BadParameter(f"got {got!r}, wanted {' or '.join(known)}")
    if failed:
        _play_failed(shows_all=trace)
        return
    own = FAULTS[fault].world if fault else ""
    with FAULTS[fault].put_back() if fault else nullcontext():
        for each in [world or own] if world or own else WORLDS:
            _play(each, range(first, first + seeds), shows_all=trace)


def _play(world: str, seeds: range, *, shows_all: bool) -> None:
    """Play these seeds. Raises typer.Exit after the first failure."""
    play(world, 0, [])  # imports what is imported where it is used: else the first run differs
    for number, seed in enumerate(seeds, 1):
        played = play(world, seed)
        if shows_all:
            _show(played)
        if played.violations:
            smallest = shrunk(world, played)
            _show(smallest)
            entry = FailedSeed(world, seed, "", tuple(smallest.disturbances))
            typer.echo(f"for {FILE.name}, once it is mended:\n{entry.written}")
            typer.echo(f"world {world}: seed {seed} fails, after {number} of {len(seeds)} seeds")
            raise typer.Exit(1)
        if sys.stderr.isatty() and number % _EVERY == 0:
            typer.echo(f"\rworld {world}: {number} of {len(seeds)} seeds", nl=False, err=True)
    typer.echo(f"world {world}: all holds with {len(seeds)} seeds")


def _play_failed(*, shows_all: bool) -> None:
    """Play those that failed once. Raises typer.Exit after the first that fails again."""
    seeds = [*failed_seeds()]
    for each in seeds:
        play(each.world, 0, [])  # as in _play
        played = play(each.world, each.seed, each.disturbances)
        if shows_all or played.violations:
            _show(played)
        if played.violations:
            typer.echo(f"world {each.world}: seed {each.seed} fails again: {each.why}")
            raise typer.Exit(1)
    typer.echo(f"all holds with the seeds that failed once: {len(seeds)}")


def _show(played: Played) -> None:
    typer.echo("\n".join(played.trace))
    typer.echo(
        f"seed {played.seed}: {played.lasted_s:.1f} s, {played.switches} switches, trace "
        f"{played.digest}; disturbances: {'; '.join(map(str, played.disturbances)) or 'none'}"
    )

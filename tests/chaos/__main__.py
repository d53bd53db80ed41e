"""`python -m tests.chaos`: disturbs real runs for some minutes, and says what held.

Try number n of a campaign draws from the seed SEED + n: `--only NAME --seed THAT --minutes 0`
repeats it.
"""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tests.chaos.campaigns import CAMPAIGNS
from tests.chaos.trial import Broken


@dataclass
class Tally:
    """The results of a campaign so far."""

    tries: int = 0
    broken: int = 0
    worst_s: float = 0.0


def chaos(
    minutes: Annotated[float, typer.Option(min=0, help="0: one try of each campaign")] = 5.0,
    only: Annotated[str, typer.Option(help="campaigns, by commas")] = ",".join(CAMPAIGNS),
    seed: Annotated[int, typer.Option(help="of the first try")] = 0,
) -> None:
    """Kill, stop, cut off, flood and damage runs on this machine, each campaign in turn."""
    names = only.split(",")
    if unknown := {*names} - {*CAMPAIGNS}:
        raise typer.BadParameter(f"got {sorted(unknown)}, wanted some of {', '.join(CAMPAIGNS)}")
    console = Console()
    tallies = {name: Tally() for name in names}
    deadline = time.monotonic() + 60 * minutes
    number = 0
    while number == 0 or time.monotonic() < deadline:
        for name in names:
            if what := one_try(name, seed + number, tallies[name]):
                again = f"--only {name} --seed {seed + number} --minutes 0"
                console.print(f"{name} broke ({again}): {what}", markup=False, highlight=False)
            if number and time.monotonic() >= deadline:
                break
        number += 1
    console.print(_table(tallies))
    raise typer.Exit(int(any(tally.broken for tally in tallies.values())))


def one_try(name: str, seed: int, tally: Tally) -> str:
    """Let one try begin and end; what broke."""
    began = time.monotonic()
    tally.tries += 1
    try:
        with tempfile.TemporaryDirectory(prefix="reglue-chaos-") as folder:
            CAMPAIGNS[name](random.Random(seed), Path(folder))
    except Broken as broken:
        tally.broken += 1
        return str(broken)
    except Exception as error:  # noqa: BLE001 - whatever it is, the next try begins
        tally.broken += 1
        return f"{type(error).__name__}: {error}"
    finally:
        tally.worst_s = max(tally.worst_s, time.monotonic() - began)
    return ""


def _table(tallies: dict[str, Tally]) -> Table:
    table = Table("campaign", "tries", "held", "broken", "worst time")
    for name, tally in tallies.items():
        held = tally.tries - tally.broken
        table.add_row(
            name, str(tally.tries), str(held), str(tally.broken), f"{tally.worst_s:.1f} s"
        )
    return table


if __name__ == "__main__":
    typer.run(chaos)

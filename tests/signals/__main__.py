"""`python -m tests.signals`: interrupts programs of runs that are played without pause.

Each language and role, over both transports, by SIGINT and by SIGTERM: how soon the others of the
run heard "interrupted", and how often something else came of it. `make clients` comes first.
"""

from __future__ import annotations

import signal
import statistics
import subprocess
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from reglue.net.join_string import Transport
from tests.agent_clients.client_programs import built
from tests.signals.interruptions import CODES, PROGRAMS, interruptions

_TRANSPORTS: tuple[Transport, ...] = ("unix", "grpc")
_NAMES = {f"{language}/{role}": (language, role) for language, role in PROGRAMS}


def signals(
    tries: Annotated[int, typer.Option(min=1, help="of each signal")] = 50,
    only: Annotated[str, typer.Option(help="programs, by commas")] = ",".join(_NAMES),
) -> None:
    """Interrupt programs, and print how soon the others heard of it."""
    names = only.split(",")
    if unknown := {*names} - {*_NAMES}:
        raise typer.BadParameter(f"got {sorted(unknown)}, wanted some of {', '.join(_NAMES)}")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    console = Console()
    table = Table("program", "transport", "signal", "tries", "wrong", "median", "longest")
    libreglue = _libreglue() if any(name.startswith("julia/") for name in names) else {}
    all_wrong = 0
    for name in names:
        for transport in _TRANSPORTS:
            for number in CODES:
                times_s, wrong = _series(_NAMES[name], transport, number, tries, libreglue)
                for words in wrong:
                    where = f"{name}, {transport}, {number.name}"
                    console.print(f"{where}: {words}", markup=False, highlight=False)
                shown = (
                    f"{each(times_s):.3f} s" if times_s else "" for each in (statistics.median, max)
                )
                table.add_row(name, transport, number.name, str(tries), str(len(wrong)), *shown)
                all_wrong += len(wrong)
    console.print(table)
    raise typer.Exit(int(all_wrong > 0))


def _series(
    program: tuple[str, str],
    transport: Transport,
    number: signal.Signals,
    tries: int,
    libreglue: Mapping[str, str],
) -> tuple[list[float], list[str]]:
    """The times until the signal was heard, in seconds, and the mistakes of the other tries."""
    times_s: list[float] = []
    wrong: list[str] = []
    while (left := tries - len(times_s) - len(wrong)) > 0:
        try:
            for heard in interruptions(program, transport, [number] * left, libreglue):
                if mistake := heard.mistake(number):
                    wrong.append(mistake)
                else:
                    times_s.append(heard.after_s)
        except (AssertionError, TimeoutError, subprocess.TimeoutExpired) as error:
            wrong.append(f"{type(error).__name__}: {error}")
    return times_s, wrong


def _libreglue() -> Mapping[str, str]:
    return {"REGLUE_LIBRARY": str(built("c", "reglue_c", "libreglue.so"))}


if __name__ == "__main__":
    typer.run(signals)

"""`python -m tests.cheats`: pairs of runs with a cheat and without, and what the cheat gained.

A cheat plays as the honest agent does, until an episode is about to fail: then it breaks the
environment, gives up, breaks its connection, leaves, or answers late. It shall never score higher.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from reglue_bench.statistics import student
from tests.cheats.cheat_pairs import BLOCK, HERE, PLANS, Pair, played
from tests.cheats.connected import CONNECTED
from tests.cheats.killed import KILLED
from tests.cheats.phase import GROUPS, PHASE, phase_of

_FEW = 5  # where a submission ends at its first cheat


def main(
    pairs: Annotated[int, typer.Option(min=2, help="of each procedure and kind")] = 200,
    procedures: Annotated[str, typer.Option(help="by commas")] = ",".join((*PLANS, PHASE)),
    kinds: Annotated[str, typer.Option(help="by commas")] = ",".join((*HERE, *CONNECTED, *KILLED)),
    out: Annotated[Path, typer.Option(help="pairs, one a line; those there are kept")] = Path(
        "cheats.jsonl"
    ),
    minutes: Annotated[float, typer.Option(help="begin no more pairs after so long")] = math.inf,
) -> None:
    """Play them, all procedures and kinds in turn, and print the table."""
    logging.getLogger("reglue").setLevel(logging.CRITICAL)
    until = time.monotonic() + 60 * minutes
    known = {(each.procedure, each.kind, each.number) for each in read(out)}
    for first in range(0, pairs, BLOCK):
        numbers = range(first, min(first + BLOCK, pairs))
        for procedure, together, of_these in _work(
            procedures.split(","), kinds.split(","), numbers
        ):
            left = [n for n in of_these if any((procedure, k, n) not in known for k in together)]
            if left and time.monotonic() < until:
                _play(procedure, together, left, out)
    print(table(read(out)))


def read(file: Path) -> list[Pair]:
    """The pairs of a file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Pair(**json.loads(line)) for line in lines]


def table(pairs: Sequence[Pair]) -> str:
    """The gains, by procedure and kind; a cheat without a score gained nothing."""
    rows = [
        "| procedure | kind | pairs | cheats | mean difference | 95 % | above | no score "
        "| met again | later tries |",
        "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for procedure, kind in dict.fromkeys((each.procedure, each.kind) for each in pairs):
        of = [each for each in pairs if (each.procedure, each.kind) == (procedure, kind)]
        scored = [(e.cheat, e.honest) for e in of if e.cheat is not None and e.honest is not None]
        gains = np.array([cheat - honest for cheat, honest in scored])
        interval = student({"": gains}).interval95 if len(gains) > 1 else None
        shown = "none" if interval is None else f"{interval[0]:+.4f} to {interval[1]:+.4f}"
        mean = f"{gains.mean():+.4f}" if len(gains) else "none"
        rows.append(
            f"| {procedure} | {kind} | {len(of)} | {sum(e.cheated for e in of)} | {mean} | {shown} "
            f"| {int((gains > 1e-12).sum())} | {len(of) - len(gains)} "
            f"| {sum(e.met_again for e in of)} | {sum(e.retried for e in of)} |"
        )
    return "\n".join(rows)


def _work(
    procedures: Sequence[str], kinds: Sequence[str], numbers: Sequence[int]
) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    """Procedures, the kinds that are played together, and their pairs."""
    for procedure in procedures:
        if procedure != PHASE:
            yield from ((procedure, (kind,), numbers) for kind in kinds)
            continue
        for group in GROUPS:
            if together := [kind for kind in group if kind in kinds]:
                step = _FEW if "leaves" in group else len(numbers)
                for at in range(0, len(numbers), step):
                    yield procedure, together, numbers[at : at + step]


def _play(procedure: str, kinds: Sequence[str], numbers: Sequence[int], out: Path) -> None:
    pairs = phase_of(kinds, numbers) if procedure == PHASE else played(procedure, kinds[0], numbers)
    with out.open("a", encoding="utf-8") as file:
        for pair in pairs:
            print(json.dumps(asdict(pair)), file=file, flush=True)


if __name__ == "__main__":
    typer.run(main)

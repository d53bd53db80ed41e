"""Contact sheets: the first picture of some of a run's episodes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from env_adapters import Cell
from reglue.conforming import conforming_observation
from reglue.errors import ReglueError
from reglue_bench.environments import build
from reglue_bench.ledger import Ledger
from reglue_bench.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.report.views import Frame
from reglue_bench.watch.pictures import Picture, picture_tensors, shrunk
from reglue_bench.watch.recorded import check_is_here, order_of, rows_of

_MOST = 24
_SIZE = 168  # pixels: larger pictures are shrunk to it


def first_frames(folder: Path) -> Sequence[Frame]:
    """Of each task and variant, or of the first episodes of the first run (online); 24 at most.

    None where observations are no pictures, where the ledger or what its environment needs
    is not there, and where the environment is a file: a report executes nobody's.
    """
    with suppress(ReglueError, ModuleNotFoundError):
        return _frames(folder)
    return ()


def _frames(folder: Path) -> list[Frame]:
    with Ledger(folder) as ledger:
        plan = Plan.from_json(ledger.about["plan"])
        check_is_here(plan)
        cells = list(islice(_of_a_run(ledger, plan) if _is_online(plan) else _of_all(plan), _MOST))
    if ".py:" in json.dumps([plan.suite.factory, plan.suite.config]):
        return []
    suite = build(plan.suite)
    names = picture_tensors(suite.spec)
    if not names:
        return []
    frames = []
    with closing(suite.world()) as world:
        for caption, cell in cells:
            seen = conforming_observation(world.start(cell), suite.spec, ())
            picture = next((seen[name] for name in names if seen[name].any()), None)
            if picture is not None:  # an episode of another kind, where environments are mixed
                frames.append(Frame(caption, _png(shrunk(picture, _SIZE, _SIZE))))
    return frames


def _is_online(plan: Plan) -> bool:
    return plan.procedure == "online"


def _of_a_run(ledger: Ledger, plan: Plan) -> Iterator[tuple[str, Cell]]:
    """The first run's episodes."""
    steps = 0
    for row in rows_of(ledger, 0):
        yield f"episode {row.k}", order_of(plan, row, steps).cell
        steps += row.steps


def _of_all(plan: Plan) -> Iterator[tuple[str, Cell]]:
    """The first cell of each task and variant that is planned."""
    procedure = procedure_of(plan)
    seen: set[tuple[str, int]] = set()
    for unit in range(procedure.units):
        for cell in procedure.cells(unit):
            if (cell.task, cell.variant) not in seen:
                seen.add((cell.task, cell.variant))
                yield f"{cell.task}, variant {cell.variant}", plan.order(unit, cell, b"").cell
        if len(seen) == procedure.goals:
            return


def _png(picture: Picture) -> str:
    from imageio.v3 import imwrite

    data = imwrite("<bytes>", picture, extension=".png")
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"

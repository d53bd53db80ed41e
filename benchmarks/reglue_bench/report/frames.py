"""The first picture of some of a run's episodes."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from env_adapters import Cell
from reglue.environments.validation import conforming_observation
from reglue.environments.world import close_suite
from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES, procedure_of
from reglue_bench.replay.pictures import Camera, Picture, picture_tensors, shrunk, with_pictures
from reglue_bench.replay.recorded import check_replayable, order_of, rows_of
from reglue_bench.runs.ledger import LedgerReader
from reglue_bench.runs.run import cell_key_of
from reglue_bench.runs.trust import check_trusted, foreign_suite
from reglue_bench.settings import Settings

_MOST = 24
_SIZE = 168  # pixels: larger pictures are shrunk to it


class Frame(NamedTuple):
    """The first picture of an episode."""

    caption: str
    uri: str  # a PNG, in it


def first_frames(folder: Path, *, draws: bool = False, trust_code: bool = False) -> Sequence[Frame]:
    """First frames, one for each task and variant, or (online) each episode of run 0; at most 24.

    Observations that are pictures, or if it `draws` what the environment renders. None if
    there is no ledger, if the environment fails here, or if its code is not Reglue's. If it
    `draws`, raises UsageError with the reason instead, and NotTrusted if that would run the
    code of a run that was begun elsewhere, unless there is `trust_code`.
    """
    if draws:
        return _frames(folder, draws=True, trust_code=trust_code)
    with suppress(Exception):  # the edge of an environment; all else is drawn without it
        return _frames(folder, draws=False, trust_code=False)
    return ()


def _frames(folder: Path, *, draws: bool, trust_code: bool) -> list[Frame]:
    with LedgerReader(folder) as ledger:
        about = ledger.about
        plan, key = Plan.from_json(about["plan"]), cell_key_of(about)
        check_replayable(plan)
        has_steps = PROCEDURES[plan.procedure].counts_steps  # as they were played
        candidates = _of_a_run(ledger, plan, key) if has_steps else _of_all(plan, key)
        cells = list(islice(candidates, _MOST))
    if draws:
        check_trusted(folder, about, trust_code=trust_code)
    elif any(foreign_suite(about["plan"])):
        return []
    suite = suite_of(plan, Settings.model_validate_json(about["settings"]))
    made = with_pictures(suite) if draws else suite.build()
    names = picture_tensors(made.spec)
    frames = []
    with ExitStack() as leaving:
        leaving.callback(close_suite, made)
        if not names and not draws:
            return []
        world = leaving.enter_context(closing(made.world()))
        camera = Camera(made.spec, world)
        for caption, cell in cells:
            observation = conforming_observation(world.start(cell), made.spec, ())
            pixels = next((observation[name] for name in names if observation[name].any()), None)
            picture = camera.take(observation) if draws else pixels
            if picture is not None:  # None: an environment of a mix without pictures
                frames.append(Frame(caption, _png(shrunk(picture, _SIZE, _SIZE))))
    if draws and not frames:
        raise UsageError(f"{plan.benchmark} has no pictures: its environment does not draw")
    return frames


def _of_a_run(ledger: LedgerReader, plan: Plan, key: bytes | None) -> Iterator[tuple[str, Cell]]:
    """The first run's episodes."""
    steps = 0
    for row in rows_of(ledger, 0):
        yield f"episode {row.k}", order_of(plan, row, steps, key).cell
        steps += row.steps


def _of_all(plan: Plan, key: bytes | None) -> Iterator[tuple[str, Cell]]:
    """The first cell of each task and variant that is planned."""
    procedure = procedure_of(plan)
    visited: set[tuple[str, int]] = set()
    for unit in range(procedure.units):
        for cell in procedure.cells(unit):
            if (cell.task, cell.variant) not in visited:
                visited.add((cell.task, cell.variant))
                yield f"{cell.task}, variant {cell.variant}", plan.order(unit, cell, b"", key).cell
        if len(visited) == procedure.goals:
            return


def _png(picture: Picture) -> str:
    from imageio.v3 import imwrite

    data = imwrite("<bytes>", picture, extension=".png")
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"

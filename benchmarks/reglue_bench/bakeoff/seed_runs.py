"""Several training seeds of one agent: a run each, side by side in a folder, as in a bake-off."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reglue.errors import UsageError
from reglue_bench.bakeoff.entrant import SEED, SEED_FOLDER, Entrant
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import LedgerReader
from reglue_bench.settings import Settings, read_settings

_SEED_RUN = re.compile(rf"(.*){SEED_FOLDER}(-?\d+)", re.ASCII)


def seeded(settings: Settings, count: int) -> list[Entrant]:
    """The agent with `count` training seeds, from its own or 0 on. Raises UsageError."""
    entrant = Entrant("", settings)
    if not entrant.depends_on_seed:
        raise UsageError(
            f"got --training-seeds {count}, which would judge the same agent {count} times: give "
            f"--train-steps N, or write {SEED} where its arguments name a checkpoint, as in "
            f"--agent-arg checkpoint=seed-{SEED}.npz"
        )
    return [*entrant.over_seeds(count)]


def holds_seeds(folder: Path) -> bool:
    """Whether a folder holds the runs of several training seeds, and is no run itself."""
    return not (folder / LEDGER).exists() and bool(_runs(folder))


def seeded_before(folder: Path, overrides: Mapping[str, Any]) -> list[Entrant]:
    """The agents of a folder that `seeded` began, with settings that the caller repeats.

    Raises UsageError.
    """
    entrants = []
    for run in _runs(folder):
        with LedgerReader(run) as ledger:
            before = Settings.model_validate_json(ledger.about["settings"])
        settings = read_settings(**(before.model_dump() | dict(overrides)))
        entrants.append(Entrant(run.name, settings, random_key=""))
    return entrants


def runs_in(folder: Path) -> list[Path]:
    """The runs in a folder of several, as of a bake-off or of training seeds; else the folder."""
    if (folder / LEDGER).exists() or folder.is_file() or (folder / "result.json").exists():
        return [folder]
    folders = sorted((file.parent for file in folder.glob(f"*/{LEDGER}")), key=_place)
    return folders or [folder]


def _runs(folder: Path) -> list[Path]:
    """The runs of `seeded`, which have no name before the seed."""
    folders = (file.parent for file in folder.glob(f"{SEED_FOLDER}*/{LEDGER}"))
    return sorted((run for run in folders if _place(run)[0] == ""), key=_place)


def _place(run: Path) -> tuple[str, int]:
    """Its agent's name, and its training seed."""
    found = _SEED_RUN.fullmatch(run.name)
    return (found[1], int(found[2])) if found else (run.name, 0)

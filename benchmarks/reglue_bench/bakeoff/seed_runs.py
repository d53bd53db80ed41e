"""Several training seeds of one agent: a run each, side by side in a folder, as in a bake-off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reglue.errors import UsageError
from reglue_bench.bakeoff.bakeoff_file import Entrant
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import LedgerReader
from reglue_bench.settings import Settings, read_settings

SEED = "{training_seed}"
"""Stands for the training seed in an agent's arguments and command."""

_FOLDER = "seed-"


def seeded(settings: Settings, count: int) -> list[Entrant]:
    """The agent with `count` training seeds, from its own or 0 on. Raises UsageError."""
    templates = [settings.agent_cmd or "", *settings.agent_args.values()]
    if settings.train_steps is None and not any(SEED in text for text in templates):
        raise UsageError(
            f"got --training-seeds {count}, which would judge the same agent {count} times: give "
            f"--train-steps N, or write {SEED} where its arguments name a checkpoint, as in "
            f"--agent-arg checkpoint=seed-{SEED}.npz"
        )
    first = settings.training_seed or 0
    return [_entrant(settings, seed) for seed in range(first, first + count)]


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
    folders = [file.parent for file in folder.glob(f"{_FOLDER}*/{LEDGER}")]
    return sorted((run for run in folders if _number(run) is not None), key=_place)


def _place(run: Path) -> tuple[int, str]:
    return _number(run) or 0, run.name


def _number(run: Path) -> int | None:
    number = run.name.removeprefix(_FOLDER)
    return int(number) if number.removeprefix("-").isdecimal() else None


def _entrant(settings: Settings, seed: int) -> Entrant:
    def filled(text: str) -> str:
        return text.replace(SEED, str(seed))

    changes = {
        "training_seed": seed,
        "agent_args": {key: filled(value) for key, value in settings.agent_args.items()},
        "agent_cmd": settings.agent_cmd and filled(settings.agent_cmd),
    }
    return Entrant(f"{_FOLDER}{seed}", settings.model_copy(update=changes), random_key="")

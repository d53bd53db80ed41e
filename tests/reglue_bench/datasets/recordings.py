"""Recorded runs, and what their datasets hold, read by Minari's own loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from minari import MinariDataset

from reglue_bench.datasets.folder import DATA, ORGANISER
from reglue_bench.datasets.recorded_dataset import FOLDER
from reglue_bench.plans.plan import Plan
from reglue_bench.results.result import Result
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import play


def record(folder: Path, plan: Plan, agent: Any = None, **settings: Any) -> Result:
    """A run with `--record`, of an agent object in this process unless one is named."""
    named = agent if agent is not None or "agent_cmd" in settings else Seeded()
    return play(folder, plan, named, record=True, **settings)


def dataset_of(folder: Path) -> Path:
    """The dataset that a run has beside its ledger."""
    return folder / FOLDER


def arrays(dataset: Path) -> list[dict[str, Any]]:
    """Each episode's arrays, as dtype, shape and bytes."""
    return [
        {
            name: exactly(getattr(episode, name))
            for name in ("observations", "actions", "rewards", "terminations", "truncations")
        }
        for episode in MinariDataset(dataset / DATA)
    ]


def organiser(dataset: Path) -> list[dict[str, Any]]:
    """The organiser's fields of each episode."""
    lines = (dataset / ORGANISER).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def exactly(found: Any) -> Any:
    """An array, or a dict of them, such that two are equal if they are so to the bit."""
    if isinstance(found, dict):
        return {name: exactly(each) for name, each in found.items()}
    array = np.asarray(found)
    return (str(array.dtype), array.shape, array.tobytes())

"""The content of a dataset, in numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from reglue_bench.datasets.folder import EPISODES, FolderSource, data_of
from reglue_bench.datasets.run_source import RunSource
from reglue_bench.datasets.source import OWN, Source, check_extra
from reglue_bench.float_range import RunningMean
from reglue_bench.run_folder import LEDGER, OBSERVED


class Range(BaseModel):
    """The least, mean and largest value of a number over episodes."""

    model_config = ConfigDict(frozen=True)

    mean: float
    least: float
    most: float


class Summary(BaseModel):
    """A dataset in numbers: what `reglue dataset info --json` prints."""

    model_config = ConfigDict(frozen=True)

    name: str  # its folder
    dataset_id: str  # Minari's
    benchmark: str | None  # None: not recorded by Reglue
    algorithm: str | None  # who played
    episodes: int  # that it holds
    steps: int  # of all
    lost: int  # episodes that were played and are not in it
    returns: Range | None  # sums of rewards; None without an episode
    lengths: Range | None  # steps of an episode
    successes: int | None  # episodes; None without the organiser's fields
    tasks: dict[str, int] | None  # episodes of each; None without the organiser's fields
    statuses: dict[str, int] | None  # episodes of each; None without the organiser's fields
    observation_space: str
    action_space: str
    size_bytes: int  # of the file that holds the arrays


def source_of(path: Path) -> Source:
    """The episodes of a run's folder, or of a dataset in Minari's layout.

    Raises UsageError if there is neither, and RunDamaged.
    """
    check_extra()
    return RunSource(path) if (path / LEDGER).exists() else FolderSource(path)


def summarized(path: Path) -> Summary:
    """Read all of a dataset once. Raises what `source_of` does."""
    check_extra()
    from minari.serialization import deserialize_space

    with source_of(path) as source:
        returns, lengths = _Spread(), _Spread()
        tasks: dict[str, int] = {}
        statuses: dict[str, int] = {}
        episodes = steps = successes = 0
        for episode in source:
            episodes, steps = episodes + 1, steps + episode.steps
            returns.add(episode.return_)
            lengths.add(episode.steps)
            if (organiser := episode.organiser) is not None:
                tasks[organiser["task"]] = tasks.get(organiser["task"], 0) + 1
                statuses[organiser["status"]] = statuses.get(organiser["status"], 0) + 1
                successes += bool(organiser["success"])
        metadata, knows = source.metadata, source.has_organiser
        return Summary(
            name=source.name,
            dataset_id=metadata["dataset_id"],
            benchmark=metadata.get(OWN, {}).get("benchmark"),
            algorithm=metadata.get("algorithm_name"),
            episodes=episodes,
            steps=steps,
            lost=source.lost,
            returns=returns.range(),
            lengths=lengths.range(),
            successes=successes if knows else None,
            tasks=tasks if knows else None,
            statuses=statuses if knows else None,
            observation_space=_space(metadata, "observation_space", deserialize_space),
            action_space=_space(metadata, "action_space", deserialize_space),
            size_bytes=_file(path).stat().st_size,
        )


class _Spread:
    """The range of a number over episodes."""

    def __init__(self) -> None:
        self._mean = RunningMean()
        self._least, self._most = math.inf, -math.inf

    def add(self, number: float) -> None:
        self._mean.add(number)
        self._least, self._most = min(self._least, number), max(self._most, number)

    def range(self) -> Range | None:
        if not self._mean.count:
            return None
        return Range(mean=self._mean.value, least=self._least, most=self._most)


def _space(metadata: Mapping[str, object], key: str, read: object) -> str:
    written = metadata.get(key)
    return str(read(written)) if written and callable(read) else "that of its environment"


def _file(path: Path) -> Path:
    return path / OBSERVED if (path / LEDGER).exists() else data_of(path) / EPISODES

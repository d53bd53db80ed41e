"""A dataset in Minari's layout: a folder with `data/main_data.hdf5` and `data/metadata.json`.

Beside `data/` stands organiser.jsonl, a line for each episode, which a published dataset omits.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.errors import RunDamaged, StorageFailed, UsageError
from reglue.spec import Array
from reglue_bench.datasets.source import OWN, Episode, Organiser, Place, Source, check_extra

DATA = "data"
EPISODES = "main_data.hdf5"
METADATA = "metadata.json"
ORGANISER = "organiser.jsonl"

_COUNTS = ("total_episodes", "total_steps", "dataset_size")


@dataclass(frozen=True, slots=True)
class Written:
    """The size of a dataset that was written."""

    path: Path
    episodes: int
    steps: int
    size_bytes: int


class FolderEpisode(Episode):
    """An episode of a dataset in Minari's layout."""

    def __init__(self, group: Any, organiser: Organiser | None, name: str) -> None:
        """`group` is its h5py.Group. Raises RunDamaged unless its arrays fit each other."""
        self.organiser = organiser
        self._group = group
        with _reading(name):
            self._steps = int(group.attrs["total_steps"])
            for each in ("actions", "rewards", "terminations", "truncations"):
                _check_length(group[each], self._steps, name)
            _check_length(group["observations"], self._steps + 1, name)

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def rewards(self) -> npt.NDArray[np.float64]:
        return np.asarray(self._group["rewards"], np.float64)

    @property
    def actions(self) -> Mapping[Place, Array]:
        return dict(_leaves(self._group["actions"]))

    def write(self, group: Any) -> None:
        """Copy it, with all other recorded arrays."""
        for name in self._group:
            self._group.copy(name, group)
        for name, value in self._group.attrs.items():
            group.attrs[name] = value


class FolderSource(Source):
    """The episodes of a dataset in Minari's layout."""

    def __init__(self, path: Path) -> None:
        """`path` is a dataset's folder, or `data` in it. Raises UsageError, RunDamaged."""
        check_extra()
        import h5py

        folder = data_of(path)
        self.name = str(path)
        with _reading(self.name):
            metadata = json.loads((folder / METADATA).read_text(encoding="utf-8-sig"))
            if metadata.get("data_format", "hdf5") != "hdf5":
                raise UsageError(
                    path, got=f"data format {metadata['data_format']!r}", wanted="hdf5"
                )
            self._metadata = {key: each for key, each in metadata.items() if key not in _COUNTS}
            self._episodes = int(metadata["total_episodes"])
            self._organiser = _read_organiser(folder.parent / ORGANISER, self._episodes)
            self._file = h5py.File(folder / EPISODES, "r") if self._episodes else None

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._metadata

    @property
    def has_organiser(self) -> bool:
        """Whether it was written with organiser.jsonl."""
        return self._organiser is not None

    @property
    def lost(self) -> int:
        """The number of lost episodes when the dataset was written."""
        return int(self._metadata.get(OWN, {}).get("lost", 0))

    def __iter__(self) -> Iterator[FolderEpisode]:
        """The episodes, in the dataset's order."""
        for number in range(self._episodes):
            name = f"{self.name}: episode {number}"
            organiser = self._organiser[number] if self._organiser else None
            with _reading(name):
                assert self._file is not None
                group = self._file[f"episode_{number}"]
            yield FolderEpisode(group, organiser, name)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def data_of(path: Path) -> Path:
    """The folder of a dataset that holds its metadata. Raises UsageError."""
    for folder in (path / DATA, path):
        if (folder / METADATA).is_file():
            return folder
    if not path.exists():
        raise UsageError(f"no such folder: {path}")
    raise UsageError(
        f"{path} holds no dataset",
        got=f"no {DATA}/{METADATA}",
        wanted=(
            "a run that was recorded (`reglue bench … --record`), or a folder in Minari's layout"
        ),
    )


def write_dataset(
    source: Source,
    path: Path,
    *,
    dataset_id: str | None = None,
    wanted: Callable[[Episode], bool] = lambda _episode: True,
    with_organiser: bool = True,
    replaces: bool = False,
) -> Written:
    """Write the episodes of `source` that are `wanted` to a new folder, whole or not at all.

    Without the organiser's fields episodes are in an order that tells nothing of the plan.
    Raises UsageError if there is something at `path`, unless it is replaced, and
    StorageFailed if the disk is full.
    """
    check_extra()
    if path.exists() and not replaces:
        raise UsageError(f"{path} exists already; choose another path, or remove it")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with _writing(draft, path):
        (draft / DATA).mkdir(parents=True)
        chosen: Iterable[Episode] = (episode for episode in source if wanted(episode))
        if not with_organiser:
            chosen = sorted(chosen, key=lambda episode: episode.content)
        written = _write(source, draft, chosen, dataset_id, with_organiser=with_organiser)
        _put(draft, path)
    return Written(path, *written)


def _write(
    source: Source,
    draft: Path,
    chosen: Iterable[Episode],
    dataset_id: str | None,
    *,
    with_organiser: bool,
) -> tuple[int, int, int]:
    """The counts of episodes, steps and bytes."""
    episodes = steps = 0
    lines = draft / ORGANISER
    lines.touch(mode=0o600)
    with (
        _hdf5(draft / DATA / EPISODES) as file,
        lines.open("w", encoding="utf-8") as organiser_file,
    ):
        for episode in chosen:
            group = file.create_group(f"episode_{episodes}")
            episode.write(group)
            group.attrs["id"] = episodes
            if episode.organiser is not None:
                organiser_file.write(json.dumps({**episode.organiser, "episode": episodes}) + "\n")
            episodes, steps = episodes + 1, steps + episode.steps
    if not (with_organiser and source.has_organiser):
        lines.unlink()
    size = (draft / DATA / EPISODES).stat().st_size
    metadata = {
        **source.metadata,
        "total_episodes": episodes,
        "total_steps": steps,
        "dataset_size": round(size / 1e6, 1),  # Minari's unit: megabytes
    }
    if dataset_id is not None:
        metadata["dataset_id"] = dataset_id
    (draft / DATA / METADATA).write_text(json.dumps(metadata), encoding="utf-8")
    # Before the draft gets its name: after a power cut the name must not lead to empty files.
    for file in draft.rglob("*"):
        _sync(file)
    return episodes, steps, size


@contextmanager
def _hdf5(path: Path) -> Iterator[Any]:
    import h5py

    file = h5py.File(path, "w", libver="v110")
    try:
        yield file
    except BaseException:
        with suppress(OSError, RuntimeError):  # the first error says more
            file.close()
        raise
    file.close()


@contextmanager
def _writing(draft: Path, path: Path) -> Iterator[None]:
    """Remove the draft if anything goes wrong; h5py's errors as StorageFailed."""
    try:
        shutil.rmtree(draft, ignore_errors=True)  # of a process of this number that was killed
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError is h5py's, where it closes a file
        shutil.rmtree(draft, ignore_errors=True)
        raise StorageFailed(
            f"the dataset {path} cannot be written: {_error_text(error)}; make room, or choose "
            "another path: `reglue dataset export RUN PATH`"
        ) from error
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _error_text(error: Exception) -> str:
    """The error's text without the figures that HDF5 adds."""
    return " ".join(str(error).split()).partition(" (file ")[0]


def _put(draft: Path, path: Path) -> None:
    """Put a folder in the place of another, if there is one."""
    before = draft.with_name(f"{draft.name}.before")
    # A folder takes no other's place by a rename unless that is empty: the old one moves first, and
    # is deleted once the new one is there.
    if path.exists():
        shutil.rmtree(before, ignore_errors=True)
        path.rename(before)
    draft.rename(path)
    shutil.rmtree(before, ignore_errors=True)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_organiser(path: Path, episodes: int) -> list[Organiser] | None:
    if not path.is_file():
        return None
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8-sig").splitlines()]
    if len(lines) != episodes:
        raise RunDamaged(f"{path} is damaged", got=f"{len(lines)} lines", wanted=episodes)
    return lines


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Raise errors that a damaged file causes as RunDamaged."""
    try:
        yield
    except (KeyError, ValueError, TypeError, AttributeError, RuntimeError, OSError) as error:
        if isinstance(error, UsageError):
            raise
        if isinstance(error, PermissionError):
            raise UsageError(f"{name} cannot be read: {error.strerror}") from error
        raise RunDamaged(
            f"{name} is damaged or no Minari dataset: {error}; export it again from its run, or "
            "take it from a copy"
        ) from error


def _check_length(node: Any, wanted: int, name: str) -> None:
    for place, rows in _datasets(node):
        if len(rows) != wanted:
            raise RunDamaged(
                f"{name} is damaged",
                got=f"{len(rows)} rows in {'/'.join(place) or rows.name}",
                wanted=wanted,
            )


def _leaves(node: Any) -> Iterator[tuple[Place, Array]]:
    for place, dataset in _datasets(node):
        yield place, dataset[()]


def _datasets(node: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if hasattr(node, "keys"):
        for name in node:
            yield from _datasets(node[name], (*place, name))
    else:
        yield place, node

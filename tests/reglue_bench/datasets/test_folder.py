"""Datasets in Minari's layout: written, read, exported again, damaged."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sqlite3
import sys
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest import mock

import h5py
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer
from minari.serialization import deserialize_space

from env_adapters import SuiteName
from glue_server.episodes import observed
from reglue.errors import MissingExtra, RunDamaged, StorageFailed, UsageError
from reglue.spec import Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec
from reglue_bench.datasets.dataset_summary import source_of, summarized
from reglue_bench.datasets.folder import write_dataset
from reglue_bench.datasets.source import places, space_json
from reglue_bench.run_folder import OBSERVED
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.datasets.recordings import arrays, dataset_of, exactly, organiser, record
from tests.reglue_bench.toys import corridor_plan, online_plan, play


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run: six episodes of two tasks."""
    found = tmp_path_factory.mktemp("recorded") / "run"
    record(found, corridor_plan())
    return found


def test_what_is_exported_again_has_the_same_arrays(run: Path, tmp_path: Path) -> None:
    for number, path in enumerate((run, dataset_of(run))):
        with source_of(path) as source:
            write_dataset(source, tmp_path / str(number))
        assert arrays(tmp_path / str(number)) == arrays(dataset_of(run))
        assert organiser(tmp_path / str(number)) == organiser(dataset_of(run))


def test_without_minari_the_extra_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    monkeypatch.setitem(sys.modules, "minari.serialization", None)
    with raises(MissingExtra, "pip install 'reglue[datasets]'", name="the package minari"):
        summarized(run)


def test_minari_finds_it_by_name_and_adds_episodes(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also splits it, and what Minari added is read and exported."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with source_of(run) as source:
        write_dataset(source, tmp_path / "mine" / "walk-v0", dataset_id="mine/walk-v0")
    dataset = minari.load_dataset("mine/walk-v0")
    assert [*minari.list_local_datasets()] == ["mine/walk-v0"]
    assert [len(part) for part in minari.split_dataset(dataset, [4, 2])] == [4, 2]
    added = EpisodeBuffer(
        observations=[np.zeros(2), np.ones(2)],
        actions=[np.zeros(1, np.float32)],
        rewards=[1.0],
        terminations=[True],
        truncations=[False],
        infos={},
    )
    dataset.update_dataset_from_buffer([added])
    (tmp_path / "mine" / "walk-v0" / "organiser.jsonl").unlink()
    with source_of(tmp_path / "mine" / "walk-v0") as source:
        written = write_dataset(source, tmp_path / "copy")
    assert (written.episodes, arrays(tmp_path / "copy")[-1]["rewards"]) == (
        7,
        exactly(np.ones(1)),
    )


def test_published_it_tells_nothing_of_the_plan(run: Path, tmp_path: Path) -> None:
    """No organiser's file, and an order that does not depend on that of the source."""
    with source_of(run) as source:
        write_dataset(source, tmp_path / "a", with_organiser=False)
    with source_of(dataset_of(run)) as source:
        write_dataset(source, tmp_path / "b", with_organiser=False)
    assert arrays(tmp_path / "a") == arrays(tmp_path / "b") != arrays(dataset_of(run))
    key = str
    assert sorted(arrays(tmp_path / "a"), key=key) == sorted(arrays(dataset_of(run)), key=key)
    assert {*(each.name for each in (tmp_path / "a").iterdir())} == {"data"}
    written = (tmp_path / "a" / "data" / "metadata.json").read_text()
    assert not any(word in written for word in ("variant", "seed", "success", '"task"'))


def test_a_summary_is_the_same_of_a_run_and_of_its_dataset(run: Path) -> None:
    told = {"name", "size_bytes"}
    of_run, of_dataset = summarized(run), summarized(dataset_of(run))
    assert of_run.model_dump(exclude=told) == of_dataset.model_dump(exclude=told)
    assert (of_run.episodes, of_run.successes, of_run.tasks) == (6, 4, {"a": 3, "b": 3})
    assert of_run.returns is not None
    assert of_run.returns.least <= of_run.returns.mean <= of_run.returns.most


def test_long_episodes_are_written_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "whole", corridor_plan())
    monkeypatch.setattr(observed, "PART_BYTES", 40)  # two observations
    record(tmp_path / "parts", corridor_plan())
    assert arrays(dataset_of(tmp_path / "parts")) == arrays(dataset_of(tmp_path / "whole"))


def test_dicts_of_observations_and_actions(tmp_path: Path) -> None:
    """With nested names, pictures and numbers of every kind."""
    suite = SuiteName("tests.reglue_bench.datasets.recorded_worlds:Kitchen", {})
    plan = online_plan(solved={"walk": [0]}, runs=1, episodes=2)
    record(tmp_path, replace(plan, suite=suite), agent="random")
    dataset = minari.MinariDataset(dataset_of(tmp_path) / "data")
    assert {*dataset.observation_space.spaces} == {"robot", "picture", "lamps"}
    for episode in dataset:
        seen = episode.observations
        assert seen["robot"]["arm"].dtype == np.float32
        assert seen["picture"].shape == (5, 40, 40, 3)
        assert [row.max() for row in seen["picture"]] == [*range(len(seen["picture"]))]
        assert {*episode.actions} == {"grip", "turn"}
        assert episode.actions["grip"].dtype == np.int64
        assert dataset.observation_space.contains(
            {
                "robot": {name: np.asarray(rows[0]) for name, rows in seen["robot"].items()},
                "picture": seen["picture"][0],
                "lamps": seen["lamps"][0],
            }
        )
    with source_of(dataset_of(tmp_path)) as source:
        write_dataset(source, tmp_path / "again")
    assert arrays(tmp_path / "again") == arrays(dataset_of(tmp_path))


def test_tensors_that_cannot_be_nested_stand_side_by_side() -> None:
    def named(*names: str) -> dict[str, tuple[str, ...]]:
        return places([TensorSpec(name, "float64") for name in names])

    assert named("a/b") == {"a/b": ()}
    assert named("a/b", "a/c") == {"a/b": ("a", "b"), "a/c": ("a", "c")}
    assert named("a", "a/b") == {"a": ("a",), "a/b": ("a.b",)}
    assert named("a/b", "a//c") == {"a/b": ("a.b",), "a//c": ("a..c",)}
    assert named("a.b", "a/b", ".") == {
        "a.b": ("tensor_0",),
        "a/b": ("tensor_1",),
        ".": ("tensor_2",),
    }


@pytest.mark.parametrize(
    ("tensor", "space"),
    [
        (TensorSpec("x", "uint8", (2,), Box()), "Box(0, 255, (2,), uint8)"),
        (TensorSpec("x", "float32", (2,), Box((0.0,), ())), "Box(0.0, inf, (2,), float32)"),
        (TensorSpec("x", "int64", (), Discrete(3, start=1)), "Discrete(3, start=1)"),
        (TensorSpec("x", "int64", (2,), Discrete(3)), "MultiDiscrete([3 3])"),
        (TensorSpec("x", "int64", (2,), MultiDiscrete((2, 5))), "MultiDiscrete([2 5])"),
        (TensorSpec("x", "int8", (4,), MultiBinary()), "MultiBinary((4,))"),
    ],
)
def test_spaces_are_minaris(tensor: TensorSpec, space: str) -> None:
    assert str(deserialize_space(space_json([tensor]))) == space


# What is wrong is told, and nothing half written stays.


def test_a_dataset_is_not_overwritten(run: Path, tmp_path: Path) -> None:
    with source_of(run) as source, raises(UsageError, tmp_path, "exists"):
        write_dataset(source, tmp_path)


def test_a_full_disk_leaves_no_half_of_a_dataset(run: Path, tmp_path: Path) -> None:
    """Files may have 20 KiB: the system's own error as HDF5 is written."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    with source_of(run) as source:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * 1024, most))
        try:
            with raises(StorageFailed, tmp_path / "full", "make room"):
                write_dataset(source, tmp_path / "full")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        assert [*tmp_path.iterdir()] == []
        write_dataset(source, tmp_path / "full")
    assert arrays(tmp_path / "full") == arrays(dataset_of(run))


def test_a_dataset_without_permission_is_not_called_damaged(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with source_of(run) as source:
        write_dataset(source, tmp_path / "closed")
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(h5py, "File", mock.Mock(side_effect=denied))
    with raises(UsageError, tmp_path / "closed", "Permission denied"):
        source_of(tmp_path / "closed")


@pytest.mark.parametrize(
    ("how", "place"),
    [
        ("cut", ""),
        ("garbled", ""),
        ("episode", ": episode 3"),
        ("rows", ": episode 3"),
        ("metadata", ""),
        ("organiser", "/organiser.jsonl"),
    ],
)
def test_a_damaged_dataset_is_told(run: Path, tmp_path: Path, how: str, place: str) -> None:
    with source_of(run) as source:
        write_dataset(source, tmp_path / "damaged")
    data = tmp_path / "damaged" / "data"
    file = data / "main_data.hdf5"
    match how:
        case "cut":
            file.write_bytes(file.read_bytes()[:2000])
        case "garbled":
            file.write_bytes(b"no dataset" * 999)
        case "metadata":
            (data / "metadata.json").write_text("{")
        case "organiser":
            (tmp_path / "damaged" / "organiser.jsonl").write_text("{}\n")
        case _:
            with h5py.File(file, "a") as opened:
                if how == "episode":
                    del opened["episode_3"]
                else:
                    del opened["episode_3/rewards"]
                    opened["episode_3/rewards"] = [1.0]
    with raises(RunDamaged, f"{tmp_path / 'damaged'}{place} is damaged"):
        summarized(tmp_path / "damaged")


@pytest.mark.parametrize(
    ("made", "lacking"),
    [("", "no such folder"), ("folder", "data/metadata.json"), ("run", OBSERVED)],
)
def test_a_folder_without_a_dataset_is_told(tmp_path: Path, made: str, lacking: str) -> None:
    path = tmp_path / "it"
    if made == "folder":
        path.mkdir()
    elif made == "run":
        play(path, corridor_plan(), Seeded())
    with raises(UsageError, path, lacking):
        summarized(path)


def test_an_observation_that_has_changed_is_told(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / OBSERVED)) as connection, connection:
        connection.execute("UPDATE part SET zlib = ? WHERE number = 3", (zlib.compress(b"else"),))
    with raises(RunDamaged, tmp_path / "run" / OBSERVED, "part 0", "episode 0", "changed"):
        summarized(tmp_path / "run")

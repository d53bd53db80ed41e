"""The dataset of `--record`: every episode, the same however the run was carried out."""

from __future__ import annotations

import errno
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from minari import MinariDataset

from reglue.errors import PlanDiffers, RunBusy, RunDamaged, StorageFailed
from reglue_bench.evaluation import carry_out, evaluate, resume, start
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import read_run
from reglue_bench.run_folder import OBSERVED
from reglue_bench.runs.ledger import Ledger, tables
from reglue_bench.runs.observed import ObservedReader, ObservedWriter, observed_writer
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.datasets.recordings import arrays, dataset_of, organiser, record
from tests.reglue_bench.toys import (
    Interrupts,
    Says,
    corridor_plan,
    joining,
    online_plan,
    play,
    rows,
)
from tests.worlds import Corridor

pytestmark = pytest.mark.slow


def test_it_loads_with_minaris_loader(tmp_path: Path) -> None:
    """One observation more than there are steps; spaces are the task's."""
    result = record(tmp_path, corridor_plan(slots=3))
    dataset = MinariDataset(dataset_of(tmp_path) / "data")
    assert dataset.total_episodes == len(dataset) == len(rows(result))
    assert dataset.total_steps == result.steps.counted
    assert (dataset.observation_space.shape, dataset.action_space.shape) == ((2,), (1,))
    assert dataset.action_space.high.tolist() == [1.0]
    for episode, row in zip(dataset, result.episodes, strict=True):
        assert len(episode) == row.steps == len(episode.rewards)
        assert len(episode.observations) == row.steps + 1
        assert float(np.cumsum(episode.rewards)[-1]) == row.return_
        assert episode.terminations[-1] or episode.truncations[-1]
        assert "Episode" in str(episode)
    assert len(dataset.sample_episodes(3)) == 3
    assert dataset.filter_episodes(lambda episode: len(episode) > 3).total_episodes > 0


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
@pytest.mark.parametrize(
    "how",
    [
        {"workers": 2},
        {"agent_cmd": joining("Seeded"), "transport": "unix"},
        {"agent_cmd": joining("Seeded"), "transport": "grpc", "workers": 1},
    ],
    ids=["workers", "unix socket", "grpc"],
)
def test_over_a_wire_and_from_workers_it_is_that_of_one_process(
    tmp_path: Path, procedure: str, how: dict[str, Any]
) -> None:
    plan = corridor_plan(procedure, slots=3)
    record(tmp_path / "here", plan)
    record(tmp_path / "there", plan, **how)
    here, there = dataset_of(tmp_path / "here"), dataset_of(tmp_path / "there")
    assert arrays(there) == arrays(here)
    assert organiser(there) == organiser(here)


def test_it_changes_no_row(tmp_path: Path) -> None:
    plan = corridor_plan(slots=3)
    assert rows(record(tmp_path / "a", plan)) == rows(play(tmp_path / "b", plan, Seeded()))


def test_episodes_that_were_cut_off_or_failed_are_truncated(tmp_path: Path) -> None:
    record(tmp_path / "cut", online_plan(episode_limit=2))
    for episode in MinariDataset(dataset_of(tmp_path / "cut") / "data"):
        assert episode.truncations.tolist() == [False, True]
        assert not episode.terminations.any()
    plan = corridor_plan(slots=1)
    result = record(tmp_path / "lost", plan, agent_cmd=joining("Lost"))
    assert result.recorded is not None
    assert result.recorded.episodes == 6
    lost = [each["status"] == "agent_error" for each in organiser(dataset_of(tmp_path / "lost"))]
    episodes = MinariDataset(dataset_of(tmp_path / "lost") / "data")
    assert any(lost)
    assert [bool(each.truncations[-1]) for each in episodes] == lost


def test_a_file_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    file = tmp_path / OBSERVED
    file.symlink_to("/nowhere/observed")
    failure = raises(StorageFailed, file, os.strerror(errno.ENOENT))
    with Ledger.create(tmp_path, {}) as ledger, failure:
        ObservedWriter(ledger, Corridor(solved={"a": [0]}).spec, "a plan")


@pytest.mark.parametrize("blob", [zlib.compress(bytes(2**26)), b"no zlib"])
def test_a_part_that_unpacks_to_too_much_is_damage(tmp_path: Path, blob: bytes) -> None:
    """A stranger who hands out a run can compute its digests."""
    record(tmp_path, corridor_plan(slots=1))
    with closing(sqlite3.connect(tmp_path / OBSERVED)) as file, file:
        file.execute("UPDATE part SET zlib = ?, digest = ?", (blob, tables.digest_of_blob(blob)))
    with ObservedReader(tmp_path) as reader, Ledger(tmp_path) as ledger:
        episode = next(seen for _, seen in reader.paired(ledger.rows()) if seen)
        with raises(RunDamaged, tmp_path / OBSERVED, "part 0", "65,548 bytes"):
            reader.rewards_and_actions(episode)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    record(tmp_path, corridor_plan(slots=2), agent_cmd=joining("Seeded"))
    before = arrays(dataset_of(tmp_path))
    with Ledger(tmp_path), raises(RunBusy, tmp_path, "another process"):
        resume(tmp_path, NullObserver(), record=True)
    assert arrays(dataset_of(tmp_path)) == before


def test_agents_and_organisers_fields_are_apart(tmp_path: Path) -> None:
    """Nothing that says which cell an episode was stands in Minari's own files."""
    record(tmp_path, corridor_plan(slots=2))
    with h5py.File(dataset_of(tmp_path) / "data" / "main_data.hdf5") as file:
        for group in file.values():
            assert {*group.attrs} == {"id", "total_steps"}
            fields = {"observations", "actions", "rewards", "terminations", "truncations", "infos"}
            assert {*group} == fields
    first = organiser(dataset_of(tmp_path))[0]
    assert (first["task"], first["variant"], first["phase"]) == ("a", 0, "evaluate")
    assert isinstance(first["seed"], int)
    assert (dataset_of(tmp_path) / "organiser.jsonl").stat().st_mode & 0o777 == 0o600


def test_with_a_secret_no_seed_is_told(tmp_path: Path) -> None:
    folder, secret = tmp_path / "run", "a secret of thirty-two characters"
    evaluate(
        "online:gridworld",
        agent="random",
        secret=secret,
        sandbox="none",
        runs=1,
        episodes=2,
        episode_limit=5,
        workers=0,
        record=True,
        out=folder,
    )
    dataset = dataset_of(folder)
    assert [each["seed"] for each in organiser(dataset)] == [None, None]
    files = [folder / OBSERVED, *dataset.rglob("*.*")]
    assert not any(secret.encode() in file.read_bytes() for file in files)


def test_a_try_that_does_not_count_is_not_in_it(tmp_path: Path) -> None:
    """`--retry-faults` plays units again: each is there once, as it was played last."""
    plan, fault = corridor_plan(), tmp_path / "fault"
    fault.touch()
    command = joining(f"Mendable --agent-arg fault={fault} --agent-arg how=nans")
    record(tmp_path / "run", plan, agent_cmd=command)
    fault.unlink()
    mended = resume(tmp_path / "run", NullObserver(), retry_faults="all")
    record(tmp_path / "whole", plan)
    assert mended.recorded is not None
    assert (mended.recorded.episodes, mended.recorded.lost) == (len(rows(mended)), 0)
    assert arrays(dataset_of(tmp_path / "run")) == arrays(dataset_of(tmp_path / "whole"))


EIGHTEEN = corridor_plan(slots=1, num_episodes=9)


def asked(*, record: bool) -> Request:
    """Eighteen episodes by an object."""
    return Request(Settings(benchmark="corridor", workers=0, record=record), EIGHTEEN, Seeded())


def go_on(folder: Path, *, record: bool) -> Result:
    """Play what a run lacks."""
    with Ledger(folder) as ledger:
        return carry_out(folder, ledger, asked(record=record), NullObserver())


def test_an_interrupted_run_goes_on_recording(tmp_path: Path) -> None:
    start(tmp_path / "run", asked(record=True), Interrupts(4))
    assert not dataset_of(tmp_path / "run").exists()
    go_on(tmp_path / "run", record=False)
    record(tmp_path / "whole", EIGHTEEN)
    assert arrays(dataset_of(tmp_path / "run")) == arrays(dataset_of(tmp_path / "whole"))


def test_recording_from_the_middle_of_a_run_counts_what_was_played_before(tmp_path: Path) -> None:
    start(tmp_path, asked(record=False), Interrupts(4))
    result = go_on(tmp_path, record=True)
    assert result.recorded is not None
    assert result.recorded.lost > 0
    assert result.recorded.lost + result.recorded.episodes == 18
    assert read_run(tmp_path).recorded == result.recorded


# Full disks, and files that are not this run's.


def test_a_full_disk_costs_episodes_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own error, from a file that may not grow."""
    begins = ObservedWriter._begin

    def full(self: ObservedWriter, *more: Any) -> int:
        first = begins(self, *more)
        self._connection.execute("PRAGMA max_page_count = 20")
        return first

    monkeypatch.setattr(ObservedWriter, "_begin", full)
    says = Says()
    result = record(tmp_path, corridor_plan(num_episodes=300, slots=1), watcher=says)
    assert result.complete
    assert result.recorded is not None
    assert 0 < result.recorded.lost < 600 == result.recorded.episodes + result.recorded.lost
    assert len([line for line in says.said if "are lost to the dataset" in line]) == 1
    assert len(arrays(dataset_of(tmp_path))) == result.recorded.episodes


def test_a_disk_that_is_almost_full_is_left_to_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed_writer, "RESERVE_BYTES", 2**62)
    says = Says()
    result = record(tmp_path, corridor_plan(), watcher=says)
    assert result.complete
    assert result.recorded is not None
    assert (result.recorded.episodes, result.recorded.lost) == (0, len(rows(result)))
    assert any("are kept for the ledger" in line for line in says.said)
    assert len(MinariDataset(dataset_of(tmp_path) / "data")) == 0


def test_what_another_run_recorded_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "other", corridor_plan(seed=77))
    run = tmp_path / "run"
    start(run, asked(record=True), Interrupts(4))
    (tmp_path / "other" / OBSERVED).replace(run / OBSERVED)
    with raises(PlanDiffers, run / OBSERVED, "plan"):
        go_on(run, record=True)


@pytest.mark.parametrize("damage", [b"not a database" * 99, b""])
def test_a_damaged_file_is_told_when_the_run_goes_on(tmp_path: Path, damage: bytes) -> None:
    start(tmp_path, asked(record=True), Interrupts(4))
    (tmp_path / OBSERVED).write_bytes(damage)
    if damage:
        with raises(RunDamaged, tmp_path / OBSERVED, "file is not a database"):
            go_on(tmp_path, record=True)
        (tmp_path / OBSERVED).unlink()
    result = go_on(tmp_path, record=True)
    assert result.recorded is not None
    assert result.complete
    assert result.recorded.lost > 0

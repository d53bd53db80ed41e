"""The ledger keeps whole units, has one writer, and loses nothing."""

from __future__ import annotations

import hashlib
import resource
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from env_adapters import Cell, SuiteName
from glue_server import Order, Outcome
from reglue.errors import RunBusy, RunDamaged, RunExists, StorageFailed, UsageError
from reglue.messages.agent_messages import Phase
from reglue_bench.evaluation import evaluate
from reglue_bench.plans.plan import Plan
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import (
    EVENT,
    Ledger,
    Totals,
    Try,
    check_empty,
    storage,
    tables,
    writer,
)
from reglue_bench.runs.ledger.reader import FORMAT
from tests.error_facts import raises
from tests.reglue_bench.ledgers import change_fact
from tests.reglue_bench.test_closed_suites import still


def outcome(unit: int, k: int = 0, *, status: str = "ok", return_: float = 0.1 + 0.2) -> Outcome:
    cell = Cell("a", 0, 0, 0, Phase.EVALUATE)
    order = Order(unit, k, cell, 0)
    return Outcome(order, status, success=True, return_=return_, steps=3, actions=b"abc" * 9)


def record(ledger: Ledger, *outcomes: Outcome, attempt: int = 0) -> None:
    session = ledger.begin_session()
    ledger.record([Try(attempt, outcomes)], session=session, totals=Totals())


def test_a_row_comes_back_to_the_bit(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, outcome(4))
    with Ledger(tmp_path) as ledger:
        (row,) = ledger.rows()
    assert (row.unit, row.k, row.status, row.success, row.steps) == (4, 0, "ok", True, 3)
    assert row.return_ == 0.1 + 0.2


def test_actions_are_kept_beside_their_row(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, outcome(4))
        assert ledger.actions(4, 0, 0) == b"abc" * 9
        with pytest.raises(KeyError):
            ledger.actions(5, 0, 0)


def test_rewards_of_a_try_come_back_step_by_step(tmp_path: Path) -> None:
    """Over its episodes in their order; another try's are its own."""
    rewards = np.array([0.1, -2.0, 1e300])
    with Ledger.create(tmp_path, {}) as ledger:
        earned = [replace(outcome(4, k), rewards=rewards[: k + 1].tobytes()) for k in (1, 0)]
        record(ledger, *earned)
        record(ledger, replace(outcome(4), rewards=rewards.tobytes()), attempt=1)
        assert ledger.rewards(4, 0).tolist() == [0.1, 0.1, -2.0]
        assert ledger.rewards(4, 1).tolist() == rewards.tolist()
        assert ledger.rewards(5, 0).tolist() == []


def test_a_unit_is_committed_whole_or_not_at_all(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, outcome(1, k=1))
        with raises(RunDamaged, tmp_path / LEDGER, "UNIQUE", "outcome.k"):
            record(ledger, outcome(1, k=0), outcome(1, k=1))
        assert [(row.unit, row.k) for row in ledger.rows()] == [(1, 1)]


def test_the_last_try_of_a_unit_counts(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, outcome(1, status="agent_error"), outcome(1, k=1))
        record(ledger, outcome(1), outcome(1, k=1), attempt=1)
        record(ledger, outcome(2))
        rows = [(row.unit, row.attempt, row.k, row.status) for row in ledger.rows()]
    assert rows == [(1, 1, 0, "ok"), (1, 1, 1, "ok"), (2, 0, 0, "ok")]


@pytest.mark.parametrize("cells", [199, 200, 201, 650])
def test_rows_that_are_read_some_at_a_time_are_all_there(tmp_path: Path, cells: int) -> None:
    """Of units larger and smaller than what is read, some of them tried twice."""
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, *[outcome(2, k) for k in reversed(range(cells))])
        for attempt in (0, 1):
            record(ledger, *[outcome(1, k) for k in range(cells)], attempt=attempt)
        record(ledger, outcome(7))
        found = [(row.unit, row.attempt, row.k) for row in ledger.rows()]
    units = [(1, 1, k) for k in range(cells)] + [(2, 0, k) for k in range(cells)]
    assert found == [*units, (7, 0, 0)]


def test_a_second_writer_is_refused_until_the_first_has_closed(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as first:
        with raises(RunBusy, tmp_path):
            Ledger(tmp_path)
        first.close()
        Ledger(tmp_path).close()


def test_a_closed_ledger_is_one_file_however_it_was_read(tmp_path: Path) -> None:
    """Rewards are read while rows are, as by an online score."""
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, outcome(4), outcome(4, 1))
        for row in ledger.rows():
            ledger.rewards(row.unit, row.attempt)
    with closing(sqlite3.connect(tmp_path / LEDGER)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_folder_that_holds_a_run_is_not_begun_again(tmp_path: Path) -> None:
    """Nor is a lock left behind."""
    with Ledger.create(tmp_path, {"plan": "first"}):
        pass
    with raises(RunExists, tmp_path, settings={"resume"}):
        Ledger.create(tmp_path, {"plan": "second"})
    with Ledger(tmp_path) as ledger:
        assert ledger.about["plan"] == "first"


def test_a_beginning_that_died_before_its_first_row_is_no_run(tmp_path: Path) -> None:
    Ledger.create(tmp_path, {}).close()
    with sqlite3.connect(tmp_path / LEDGER) as connection:
        connection.execute("DELETE FROM about")
    connection.close()
    with raises(UsageError, tmp_path, f"{LEDGER}-wal", f"--out {tmp_path}"):
        Ledger(tmp_path)
    Ledger.create(tmp_path, {}).close()


def test_a_folder_with_other_files_gets_no_run(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()  # of a process that died
    check_empty(tmp_path)
    check_empty(tmp_path / "new")
    (tmp_path / "thesis.tex").touch()
    with raises(UsageError, tmp_path, "thesis.tex", settings={"out"}):
        check_empty(tmp_path)


def test_a_forgotten_run_leaves_the_folders_that_were_there_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    for name in ("before", "before/runs/new"):
        Ledger.create(tmp_path / name, {}).forget()
    assert [*tmp_path.rglob("*")] == [tmp_path / "before"]


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with raises(UsageError, tmp_path, f"no {LEDGER}"):
        Ledger(tmp_path)


def test_a_ledger_of_another_format_is_refused(tmp_path: Path) -> None:
    Ledger.create(tmp_path, {}).close()
    change_fact(tmp_path, "format", "2")
    with raises(UsageError, tmp_path, "format 2", 7):
        Ledger(tmp_path)


def test_other_fields_are_another_format() -> None:
    """Raise FORMAT and write the digest here: else a run of before ends in a traceback."""
    with closing(sqlite3.connect(":memory:")) as connection:
        storage.make_tables(connection, tables.TABLES)
        kept = [
            f"{table}.{column}"
            for table in sorted(tables.TABLES)
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")
        ]
    kept += [field.name for of in (Plan, SuiteName) for field in fields(of)]
    assert {FORMAT: hashlib.sha256(" ".join(kept).encode()).hexdigest()[:16]} == {
        7: "ccc39ed2a1087f74"
    }


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / LEDGER).write_bytes(b"not a database" * 100)
    for opened in (Ledger, Ledger.check_vacant):
        with raises(RunDamaged, tmp_path / LEDGER):
            opened(tmp_path)
    assert (tmp_path / LEDGER).read_bytes().startswith(b"not a database")


def test_commits_wait_for_the_disk(tmp_path: Path) -> None:
    """synchronous=FULL (2) in write-ahead mode: a commit survives a power cut."""
    with Ledger.create(tmp_path, {}) as ledger:
        asked = [
            ledger._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode")
        ]
    assert asked == [2, "wal"]


@pytest.mark.parametrize(("lasts", "mode"), [(True, "FULL"), (False, "OFF")])
def test_a_run_in_a_temporary_folder_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasts: bool, mode: str
) -> None:
    asked: list[str] = []

    def opened(folder: Path, **options: str) -> sqlite3.Connection:
        asked.extend(value for name, value in options.items() if name == "synchronous")
        return storage.opened(folder, **options)

    monkeypatch.setattr(writer, "opened", opened)
    out = tmp_path / "run" if lasts else None
    evaluate("evaluate:mountain-car", still, num_episodes=1, episode_limit=3, out=out)
    assert asked == [mode]


def test_a_full_disk_is_told_and_what_was_committed_stays(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        record(ledger, outcome(0))
        full = "PRAGMA max_page_count = 1"  # SQLite takes it for the pages that there are
        ledger._connection.execute(full)
        with raises(StorageFailed, "full", "--resume"):
            record(ledger, *(outcome(1, k) for k in range(10_000)))
    with Ledger(tmp_path) as ledger:
        assert next(ledger.rows()).unit == 0


def test_a_run_that_a_full_disk_keeps_from_beginning_leaves_nothing(tmp_path: Path) -> None:
    """As files of more than one page are."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
    try:
        with raises(StorageFailed, tmp_path / "run"):
            Ledger.create(tmp_path / "run", {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
    assert not (tmp_path / "run").exists()


def test_an_event_is_counted_over_sessions(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        ledger.count_event("a node was lost")
    with Ledger(tmp_path) as ledger:
        ledger.count_event("a node was lost")
        ledger.count_event("a process died", 3)
        events = {name: n for name, n in ledger.about.items() if name.startswith(EVENT)}
    assert events == {f"{EVENT}a node was lost": "2", f"{EVENT}a process died": "3"}


def test_what_sessions_spent_is_summed(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        for _ in range(2):
            ledger.spend(ledger.begin_session(), Totals(3.0, 1.0, 0.5, 100))
        assert ledger.totals() == Totals(6.0, 2.0, 1.0, 200)

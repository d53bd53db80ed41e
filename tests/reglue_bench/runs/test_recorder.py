"""Units are committed behind the play's back: none is lost, and no failure is."""

from __future__ import annotations

from pathlib import Path

from reglue.errors import RunDamaged
from reglue_bench.runs.ledger import Ledger, Totals
from reglue_bench.runs.recorder import Recorder
from tests.error_facts import raises
from tests.reglue_bench.runs.ledger.test_ledger import outcome


def test_all_that_was_recorded_is_there_when_it_is_closed(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        recorder = Recorder(ledger, ledger.begin_session())
        for unit in range(3000):  # more than may wait
            recorder.record(0, [outcome(unit), outcome(unit, 1)], Totals(executed=unit))
        recorder.close()
        assert [row.unit for row in ledger.rows()] == [unit // 2 for unit in range(6000)]
        assert ledger.totals().executed == 2999


def test_a_commit_that_fails_is_heard_of(tmp_path: Path) -> None:
    """And what was committed before it stays; nothing of the failed one is kept."""
    with Ledger.create(tmp_path, {}) as ledger:
        recorder = Recorder(ledger, ledger.begin_session())
        recorder.record(0, [outcome(1)], Totals())
        recorder.close()
        recorder = Recorder(ledger, ledger.begin_session())
        recorder.record(0, [outcome(2), outcome(1)], Totals())  # a row that there is
        with raises(RunDamaged, tmp_path / "ledger.sqlite", "UNIQUE", "outcome.k"):
            recorder.close()
        assert [row.unit for row in ledger.rows()] == [1]


def test_play_ends_at_the_next_unit_after_a_failure(tmp_path: Path) -> None:
    with Ledger.create(tmp_path, {}) as ledger:
        recorder = Recorder(ledger, ledger.begin_session())
        recorder.record(0, [outcome(1), outcome(1)], Totals())
        with raises(RunDamaged, tmp_path / "ledger.sqlite", "UNIQUE", "outcome.k"):
            record_many(recorder)
        with raises(RunDamaged, tmp_path / "ledger.sqlite", "UNIQUE", "outcome.k"):
            recorder.close()


def record_many(recorder: Recorder) -> None:
    for unit in range(2, 100_000):
        recorder.record(0, [outcome(unit)], Totals())

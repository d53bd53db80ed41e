"""Units are committed behind the play's back: none is lost, and no failure is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import RunDamaged
from reglue_bench.runs import recorder as recorder_module
from reglue_bench.runs.ledger import Begun, Ledger, Totals, Try
from reglue_bench.runs.recorder import Recorder
from tests.error_facts import raises
from tests.reglue_bench.runs.ledger.test_ledger import outcome


def test_all_that_was_recorded_is_there_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_MOST_BYTES", 100_000)
    with Ledger.create(tmp_path, {}) as ledger:
        recorder = Recorder(ledger, ledger.begin_session())
        for unit in range(3000):  # more than may wait
            recorder.record(0, [outcome(unit), outcome(unit, 1)], Totals(executed=unit))
        recorder.close()
        assert [row.unit for row in ledger.rows()] == [unit // 2 for unit in range(6000)]
        assert ledger.totals().executed == 2999


def test_play_waits_when_much_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many bytes of actions and rewards as may be held; then until some were taken."""
    monkeypatch.setattr(recorder_module, "_MOST_BYTES", 1_000_000)
    goes_on, is_writing, recorded = threading.Event(), threading.Event(), list[int]()
    with Ledger.create(tmp_path, {}) as ledger:
        record = ledger.record

        def slowly(tries: Sequence[Try], **more: Any) -> None:
            is_writing.set()
            assert goes_on.wait(60)
            record(tries, **more)

        monkeypatch.setattr(ledger, "record", slowly)
        recorder = Recorder(ledger, ledger.begin_session())

        def play() -> None:
            for unit in range(20):
                of = replace(outcome(unit), actions=bytes(100_000), rewards=bytes(100_000))
                recorder.record(0, [of], Totals())
                recorded.append(unit)

        recorder.begin(Begun(0, 0))
        assert is_writing.wait(60)
        playing = threading.Thread(target=play)
        playing.start()
        playing.join(1)
        assert recorded == [0, 1, 2, 3, 4]
        goes_on.set()
        playing.join(60)
        recorder.close()
        assert [row.unit for row in ledger.rows()] == [*range(20)]


def test_a_commit_of_many_units_takes_few_statements(tmp_path: Path) -> None:
    """After each of them this thread waits until play lets it go on, and wakes play's for it."""
    statements: list[str] = []
    with Ledger.create(tmp_path, {}) as ledger:
        session = ledger.begin_session()
        ledger._connection.set_trace_callback(statements.append)
        tries = [Try(0, [outcome(unit)]) for unit in range(100)]
        begun = [Begun(unit, 0) for unit in range(200)]
        ledger.record(tries, begun=begun, session=session, totals=Totals())
        assert len([*ledger.rows()]) == 100
    assert len(statements) < 20


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

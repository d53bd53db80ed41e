"""A run's episodes as tables, read back by those who read such tables."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path

import pyarrow.parquet
import pytest

from glue_server import Outcome
from reglue_bench.cli.export import Format, main
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.results import result_tables
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.result_tables import COLUMNS, write_table
from reglue_bench.results.scoring import read_run
from reglue_bench.runs.ledger import Ledger, Totals, Try
from reglue_bench.runs.run import Request, begin
from reglue_bench.settings import Settings
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.conftest import Say
from tests.reglue_bench.toys import corridor_plan, play

AWKWARD = 'KeyError: "a, b"\nin line 3 – ☕'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the corridor, as it was played."""
    folder = tmp_path_factory.mktemp("run")
    play(folder, corridor_plan(), Seeded())
    return folder


@pytest.fixture
def awkward(tmp_path: Path) -> Path:
    """A run under way whose rows are hard to write down."""
    plan = corridor_plan()
    ledger = begin(tmp_path, Request(Settings(benchmark="corridor"), plan))
    returns = [0.1 + 0.2, float("-inf"), 1e300]
    ledger.record(
        [Try(unit, [outcome(plan, unit, each)]) for unit, each in enumerate(returns)],
        session=ledger.begin_session(),
        totals=Totals(),
    )
    assert isinstance(ledger, Ledger)  # still open
    return tmp_path


def outcome(plan: Plan, unit: int, return_: float) -> Outcome:
    order = plan.order(unit, procedure_of(plan).cells(unit)[0], b"")
    return Outcome(order, "agent_error", return_=return_, steps=3, clipped=1, detail=AWKWARD)


def table(folder: Path, form: Format) -> bytes:
    file = BytesIO()
    write_table((row.values for row in Episodes(folder)), file, form)
    return file.getvalue()


def from_csv(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(table(folder, "csv").decode(), newline="")))


def expected(folder: Path) -> list[list[object]]:
    """The rows of a run's result, column by column."""
    fields = [field for field, _ in COLUMNS.values()]
    return [[getattr(row, field) for field in fields] for row in read_run(folder).episodes]


@pytest.mark.parametrize("of", ["run", "awkward"])
def test_csv_read_back_is_the_rows_of_the_run(of: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(of)
    types: dict[type, Callable[[str], object]] = {int: int, str: str, float: float}
    types[bool] = "True".__eq__
    read = [
        [types[kind](row[name]) for name, (_, kind) in COLUMNS.items()] for row in from_csv(folder)
    ]
    assert read == expected(folder)


def test_json_lines_read_back_are_the_rows_of_the_run(run: Path) -> None:
    lines = [json.loads(line) for line in table(run, "jsonl").splitlines()]
    assert [list(each.values()) for each in lines] == expected(run)
    assert {tuple(each) for each in lines} == {tuple(COLUMNS)}


def test_json_lines_have_no_word_for_infinity(awkward: Path) -> None:
    lines = [json.loads(line) for line in table(awkward, "jsonl").splitlines()]
    assert [each["return"] for each in lines] == [0.1 + 0.2, None, 1e300]


@pytest.mark.parametrize("of", ["run", "awkward"])
def test_parquet_read_back_is_the_rows_of_the_run(of: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(of)
    read = pyarrow.parquet.read_table(pyarrow.BufferReader(table(folder, "parquet")))
    assert [list(row.values()) for row in read.to_pylist()] == expected(folder)
    types = {"int64": int, "string": str, "bool": bool, "double": float}
    assert {each.name: types[str(each.type)] for each in read.schema} == {
        name: kind for name, (_, kind) in COLUMNS.items()
    }


def test_parquet_is_written_some_rows_at_a_time(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_tables, "_AT_ONCE", 4)
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(table(run, "parquet")))
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    assert sizes == [4, 2]


def test_the_command_writes_csv_to_standard_output(
    run: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([str(run)])
    assert capfdbinary.readouterr().out == table(run, "csv")


def test_the_command_writes_a_file(say: Say, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    assert say("export", run, "--format", "parquet", "--out", out).returncode == 0
    assert out.read_bytes() == table(run, "parquet")


def test_no_run_is_told_and_leaves_no_file(say: Say, tmp_path: Path) -> None:
    done = say("export", tmp_path, "--out", tmp_path / "table.csv")
    assert (done.returncode, "holds no run" in done.stderr) == (2, True)
    assert not [*tmp_path.iterdir()]


def test_without_pyarrow_the_extra_is_named(
    say: Say, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = say("export", run, "--format", "parquet", "--out", tmp_path / "table.parquet")
    assert (done.returncode, "pip install 'reglue[parquet]'" in done.stderr) == (2, True)
    assert not [*tmp_path.iterdir()]

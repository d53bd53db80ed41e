"""Messages about a run's folder that is in use, locked up, full, or no run at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reglue.__main__ import main
from reglue.errors import StorageFailed, UsageError
from reglue_bench.cli.bench import main as bench
from reglue_bench.cli.report import main as report
from reglue_bench.evaluation import conclude
from reglue_bench.results.scoring import read_run
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import Ledger, LedgerReader, Totals, Try, storage
from reglue_bench.runs.run import Request, begin
from reglue_bench.settings import Settings
from tests.error_facts import assert_named, raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.runs.ledger.test_ledger import outcome
from tests.reglue_bench.toys import corridor_plan, play

pytestmark = pytest.mark.slow


def going_on(folder: Path) -> Ledger:
    """A run of six episodes, three of which are played; its writer is there."""
    request = Request(Settings(benchmark="corridor", agent="random"), corridor_plan())
    ledger = begin(folder, request)
    tries = [Try(0, [outcome(unit)]) for unit in range(3)]
    ledger.record(tries, session=ledger.begin_session(), totals=Totals())
    return ledger


def test_a_run_that_goes_on_is_reported_so_far_and_not_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with going_on(tmp_path) as ledger:
        with pytest.raises(SystemExit) as left:
            report([str(tmp_path)])
        assert left.value.code == 0
        assert "3 of 6 planned so far" in capsys.readouterr().out
        assert "So far: the run goes on" in (tmp_path / "report.html").read_text()
        for words in (["--resume"], ["online:mountain-car", "--agent", "random", "--out"]):
            with pytest.raises(SystemExit) as left:
                bench([*words, str(tmp_path)])
            assert left.value.code == 2
            err = capsys.readouterr().err
            assert len(err.splitlines()) == 1
            assert "another process is writing" in err
        ledger.record([Try(0, [outcome(3)])], session=ledger.begin_session(), totals=Totals())
        assert read_run(tmp_path).status_counts == {"missing": 2, "ok": 4}


def test_a_reader_sees_one_moment_while_the_run_goes_on(tmp_path: Path) -> None:
    with going_on(tmp_path) as ledger, LedgerReader(tmp_path) as reader:
        tries = [Try(0, [outcome(3)])]
        ledger.record(tries, session=ledger.begin_session(), totals=Totals(executed=9))
        assert len(list(reader.rows())) == 3
        assert reader.totals().executed == 0
    assert len(rows(tmp_path)) == 4


@pytest.mark.parametrize("command", ["report run", "export run", "bench --resume run"])
def test_a_run_without_permission_is_not_called_damaged(tmp_path: Path, command: str) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    (tmp_path / "run" / LEDGER).chmod(0)
    done = without_overriding(command, tmp_path)
    assert done.returncode == 1
    assert_named(["run/ledger.sqlite", "Permission denied"], done.stderr)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("closed", ["agent.py", "folder"])
def test_code_without_permission_is_named(tmp_path: Path, closed: str) -> None:
    (tmp_path / "folder").mkdir()
    for file in (tmp_path / "agent.py", tmp_path / "folder" / "agent.py"):
        file.write_text("def agent(observations):\n    return observations\n")
    (tmp_path / closed).chmod(0)
    agent = "agent.py" if closed == "agent.py" else "folder/agent.py"
    done = without_overriding(f"bench evaluate:mountain-car --agent {agent}:agent", tmp_path)
    assert done.returncode == 1
    assert_named([agent, "Permission denied"], done.stderr)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        "bench online:mountain-car --agent LONG.py:Agent",
        "bench evaluate:LONG.py:World --agent random",
        "bench online:mountain-car --agent random --out LONG",
        "bench --resume LONG",
        "report LONG",
    ],
)
def test_a_name_that_is_too_long_for_a_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    long = "x" * 300
    with contextlib.chdir(tmp_path), pytest.raises(SystemExit) as left:
        main(command.replace("LONG", long).split())
    assert left.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert long in last
    assert "there is no file" in last or os.strerror(errno.ENAMETOOLONG) in last


def without_overriding(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command whose user, also root, may read only what files permit."""
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
    return subprocess.run(
        [*(drop if os.geteuid() == 0 else []), sys.executable, "-m", "reglue", *command.split()],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )


def rows(folder: Path) -> list[object]:
    with LedgerReader(folder) as reader:
        return list(reader.rows())


def test_a_run_that_goes_on_is_copied_with_its_journal(tmp_path: Path) -> None:
    for name in ("run", "both", "one"):
        (tmp_path / name).mkdir()
    with going_on(tmp_path / "run"):
        for file in (tmp_path / "run").glob(f"{LEDGER}*"):
            shutil.copy(file, tmp_path / "both")
        shutil.copy(tmp_path / "run" / LEDGER, tmp_path / "one")
    assert len(rows(tmp_path / "both")) == 3
    with raises(UsageError, tmp_path / "one", f"{LEDGER}-wal"):
        rows(tmp_path / "one")


def test_a_journal_that_was_deleted_is_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The remaining file is a run of some time ago, and whole as far as SQLite can tell."""
    (tmp_path / "old").mkdir()
    with going_on(tmp_path / "run") as ledger:
        with closing(sqlite3.connect(tmp_path / "run" / LEDGER)) as other:
            other.execute("PRAGMA wal_checkpoint(FULL)")
        ledger.record([Try(0, [outcome(3)])], session=ledger.begin_session(), totals=Totals())
        shutil.copy(tmp_path / "run" / LEDGER, tmp_path / "old")
        assert read_run(tmp_path / "run").status_counts == {"missing": 2, "ok": 4}
        assert not caplog.records
    for _ in range(2):  # SQLite makes an empty one as it reads
        assert read_run(tmp_path / "old").status_counts == {"missing": 3, "ok": 3}
        assert f"{LEDGER}-wal is missing" in caplog.text
        caplog.clear()
    assert read_run(tmp_path / "run").status_counts == {"missing": 2, "ok": 4}
    assert not caplog.records


def test_a_finished_run_is_one_file_that_can_be_copied(tmp_path: Path) -> None:
    play(tmp_path / "run", corridor_plan(), Seeded())
    assert sorted(each.name for each in (tmp_path / "run").glob(f"{LEDGER}*")) == [LEDGER]
    with closing(sqlite3.connect(tmp_path / "run" / LEDGER)) as ledger:
        assert ledger.execute("PRAGMA journal_mode").fetchone() == ("delete",)  # none beside it
    (tmp_path / "copy").mkdir()
    shutil.copyfile(tmp_path / "run" / LEDGER, tmp_path / "copy" / LEDGER)
    assert read_run(tmp_path / "copy") == read_run(tmp_path / "run")


@pytest.mark.parametrize("left", [("-shm", "-wal"), ("-wal",), ()])
def test_a_run_is_read_where_nothing_may_be_written(tmp_path: Path, left: tuple[str, ...]) -> None:
    """Whole, or as a writer that was killed left it: with its journal, in a folder copied so."""
    folder = tmp_path / "left"
    with going_on(tmp_path / "run"):  # whose files are now as if it were killed
        shutil.copytree(tmp_path / "run", folder)
    if not left:
        Ledger(folder).close()
    for end in {"-shm", "-wal"} - set(left):
        (folder / f"{LEDGER}{end}").unlink(missing_ok=True)
    folder.chmod(0o500)
    # Who is root may write all the same, unless that right is laid down.
    powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if not os.getuid() else []
    script = (
        "import sys; from pathlib import Path; from reglue_bench.results.scoring import read_run;"
        "print(read_run(Path(sys.argv[1])).status_counts)"
    )
    done = subprocess.run(
        [*powerless, sys.executable, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    folder.chmod(0o700)
    assert done.stdout == "{'missing': 3, 'ok': 3}\n", done.stderr


def test_a_result_on_a_full_disk_is_told_and_leaves_no_draft(tmp_path: Path) -> None:
    with going_on(tmp_path) as ledger:
        (tmp_path / "result.json.tmp").symlink_to("/dev/full")
        with raises(
            StorageFailed,
            tmp_path / "result.json",
            "No space left on device",
            f"reglue report {tmp_path}",
            f"--resume {tmp_path}",
        ):
            conclude(tmp_path, ledger, None)
        assert not (tmp_path / "result.json.tmp").is_symlink()
        conclude(tmp_path, ledger, None)
    assert (tmp_path / "result.json").is_file()


def test_a_ledger_on_a_full_disk_is_told_in_a_line_and_goes_on_later(tmp_path: Path) -> None:
    """Each file may have 100 KiB; the command exits with 1, as after a partial run."""
    words = ["online:mountain-car", "--agent", "random", "--runs", "2", "--steps", "300"]
    command = [sys.executable, "-m", "reglue", "bench"]
    start = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *command, *words]
    run = [*start, "--workers", "0", "--out", "run"]
    done = subprocess.run(
        run, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be used" in done.stderr.splitlines()[-1]
    resumed = [*command, "--resume", "run"]
    done = subprocess.run(
        resumed, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert read_run(tmp_path / "run").complete


def test_a_file_system_that_shares_no_memory_gets_a_durable_journal(tmp_path: Path) -> None:
    """SQLite answers there what it does instead of a write-ahead log."""
    with closing(storage.opened(tmp_path, mode="rwc&vfs=unix-dotfile")) as connection:
        storage.begin_journal(connection, tmp_path)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_journal_that_a_power_cut_would_undo_is_refused(tmp_path: Path) -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,  # which keeps its journal in memory
        raises(StorageFailed, tmp_path, "'memory'", "wal", "delete"),
    ):
        storage.begin_journal(connection, tmp_path)

"""`reglue cache` says what is kept, and empties it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from env_adapters.cache import DiskCache

PROGRAM = "import sys; from reglue_bench.cli.cache import main; main(sys.argv[1:])"


def reglue_cache(*words: str, folder: Path | str) -> subprocess.CompletedProcess[str]:
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    settings = {"REGLUE_CACHE_DIR": str(folder), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=os.environ | paths | settings,
        capture_output=True,
        text=True,
        check=False,
    )


def filled(folder: Path) -> DiskCache:
    cache = DiskCache(folder)
    for number in range(3):
        cache.put({"number": number}, bytes(1000))
    return cache


def test_it_says_where_and_how_much(tmp_path: Path) -> None:
    filled(tmp_path)
    done = reglue_cache(folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path) in done.stdout
    assert "3.2 kB of at most 2.1 GB" in done.stdout
    assert done.stdout == reglue_cache("info", folder=tmp_path).stdout


def test_it_is_cleared(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    (tmp_path / "diary.txt").write_text("dear")
    done = reglue_cache("clear", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout == f"Deleted 3 entries, 3.2 kB, of {tmp_path}.\n"
    assert cache.usage().entries == 0
    assert (tmp_path / "diary.txt").exists()


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    done = reglue_cache(folder=tmp_path / "none")
    assert done.returncode == 0
    assert "0 bytes" in done.stdout
    assert not (tmp_path / "none").exists()


def test_it_says_where_nothing_is_kept() -> None:
    done = reglue_cache("clear", folder="")
    assert (done.returncode, "Nothing is cached" in done.stdout) == (0, True)


def test_other_words_are_refused(tmp_path: Path) -> None:
    assert reglue_cache("burn", folder=tmp_path).returncode == 2

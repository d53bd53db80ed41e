"""`reglue cache` says what is kept, and empties it."""

from __future__ import annotations

from pathlib import Path

import pytest

from env_adapters.disk_cache import DiskCache
from tests.reglue_bench.conftest import Say


@pytest.fixture(autouse=True)
def _kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGLUE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")


def filled(folder: Path) -> DiskCache:
    cache = DiskCache(folder)
    for number in range(3):
        cache.put({"number": number}, bytes(1000))
    return cache


def test_it_says_where_and_how_much(say: Say, tmp_path: Path) -> None:
    filled(tmp_path)
    done = say("cache")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path) in done.stdout
    assert "3.2 kB of at most 2.1 GB" in done.stdout
    assert done.stdout == say("cache", "info").stdout


def test_it_is_cleared(say: Say, tmp_path: Path) -> None:
    cache = filled(tmp_path)
    (tmp_path / "diary.txt").write_text("dear")
    done = say("cache", "clear")
    assert done.returncode == 0
    assert done.stdout == f"Deleted 3 entries, 3.2 kB, of {tmp_path}.\n"
    assert cache.usage().entries == 0
    assert (tmp_path / "diary.txt").exists()


def test_a_folder_that_is_not_there_holds_nothing(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_CACHE_DIR", str(tmp_path / "none"))
    done = say("cache")
    assert done.returncode == 0
    assert "0 bytes" in done.stdout
    assert not (tmp_path / "none").exists()


def test_it_says_where_nothing_is_kept(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGLUE_CACHE_DIR", "")
    done = say("cache", "clear")
    assert (done.returncode, "Nothing is cached" in done.stdout) == (0, True)

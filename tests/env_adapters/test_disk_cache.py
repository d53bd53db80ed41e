"""Stored entries come back unchanged, or not at all; the cache stays within bounds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from env_adapters.disk_cache import DiskCache, Usage, cache_folder
from tests.programs import run_python

KEY = {"what": "a number", "of": [1, 2]}
OTHER = {"what": "a number", "of": [1, 3]}


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")


def only_file(cache: DiskCache, suffix: str = ".entry") -> Path:
    assert cache.folder is not None
    (path,) = cache.folder.glob(f"*{suffix}")
    return path


def test_what_was_kept_is_found_by_another_process(cache: DiskCache) -> None:
    program = (
        "import sys, pathlib; from env_adapters.disk_cache import DiskCache;"
        f"DiskCache(pathlib.Path(sys.argv[1])).put({KEY}, b'seven')"
    )
    run_python(program, str(cache.folder))
    assert cache.get(KEY) == b"seven"


def test_another_key_finds_nothing(cache: DiskCache) -> None:
    cache.put(KEY, b"seven")
    assert cache.get(OTHER) is None


def test_a_new_value_replaces_the_old(cache: DiskCache) -> None:
    cache.put(KEY, b"seven")
    cache.put(KEY, b"eight")
    assert cache.get(KEY) == b"eight"


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_nothing_is_read_where_other_users_may_write(
    cache: DiskCache, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """The cache holds models that are simulated: whoever plants one there decides the score."""
    cache.put(KEY, b"seven")
    assert cache.folder is not None
    cache.folder.chmod(mode)
    open_to_others = DiskCache(cache.folder)
    assert open_to_others.get(KEY) is None
    open_to_others.put(OTHER, b"eight")
    assert cache.get(OTHER) is None
    assert cache.get(KEY) == b"seven"
    assert "other users may write to it" in caplog.text


def _flipped(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[:-1],
    "only its head": lambda content: content[:20],
    "longer": lambda content: content + b"\0",
    "flipped": _flipped,
    "foreign": lambda content: b"\x80\x04K\x01.",
    "of another format": lambda content: content.replace(b"cache.1", b"cache.2"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_as_none_and_kept_anew(
    cache: DiskCache, damage: Callable[[bytes], bytes]
) -> None:
    cache.put(KEY, b"seven")
    path = only_file(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"seven")
    assert cache.get(KEY) == b"seven"


def test_an_entry_in_anothers_place_is_as_none(cache: DiskCache) -> None:
    cache.put(OTHER, b"eight")
    path = only_file(cache)
    content = path.read_bytes()
    path.unlink()
    cache.put(KEY, b"seven")
    only_file(cache).write_bytes(content)
    assert cache.get(KEY) is None


def test_a_file_is_kept(cache: DiskCache) -> None:
    cache.put_file(KEY, lambda path: path.write_bytes(b"model"))
    kept = cache.get_file(KEY)
    assert kept is not None
    assert kept.read_bytes() == b"model"


def test_a_damaged_file_is_as_none(cache: DiskCache) -> None:
    cache.put_file(KEY, lambda path: path.write_bytes(b"model"))
    only_file(cache, ".file").write_bytes(b"modal")
    assert cache.get_file(KEY) is None


def test_a_file_without_its_entry_is_as_none(cache: DiskCache) -> None:
    """A process can end between the two."""
    cache.put_file(KEY, lambda path: path.write_bytes(b"model"))
    only_file(cache).unlink()
    assert cache.get_file(KEY) is None


def test_an_entry_without_its_file_is_as_none(cache: DiskCache) -> None:
    cache.put_file(KEY, lambda path: path.write_bytes(b"model"))
    only_file(cache, ".file").unlink()
    assert cache.get_file(KEY) is None


def test_where_no_folder_can_be_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file" / "cache")
    cache.put(KEY, b"seven")
    cache.put_file(KEY, lambda path: path.write_bytes(b"model"))
    assert cache.get(KEY) is None
    assert cache.get_file(KEY) is None
    assert cache.clear() == Usage(0, 0)


def test_without_a_folder_nothing_is_kept_nor_made() -> None:
    cache = DiskCache(None)
    cache.put(KEY, b"seven")
    cache.put_file(KEY, lambda path: pytest.fail("nobody wants it"))
    assert (cache.get(KEY), cache.get_file(KEY), cache.usage()) == (None, None, Usage(0, 0))


def test_a_full_disk_leaves_nothing_behind(cache: DiskCache) -> None:
    def fill(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    cache.put_file(KEY, fill)
    assert cache.get_file(KEY) is None
    assert cache.folder is not None
    assert list(cache.folder.iterdir()) == []


def test_the_folder_is_the_users_alone(cache: DiskCache) -> None:
    cache.put(KEY, b"seven")
    assert cache.folder is not None
    assert cache.folder.stat().st_mode & 0o077 == 0


def age(path: Path, hours: float) -> None:
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))


def test_it_stays_within_its_bounds(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit_bytes=20_000)
    for number in range(100):
        cache.put({"number": number}, bytes(1000))
        assert cache.usage().size_bytes < 22_500  # looked at each sixteenth of the limit
    assert cache.usage().entries > 10


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit_bytes=1_000_000)
    for number in range(10):
        cache.put({"number": number}, bytes(1000))
        age(tmp_path / sorted(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime)[-1], 20 - number)
    assert cache.get({"number": 0}) is not None  # used: now the youngest
    DiskCache(tmp_path, limit_bytes=5_000).put({"number": 10}, bytes(1000))
    left = [number for number in range(11) if cache.get({"number": number})]
    assert left == [0, 8, 9, 10]


def test_a_folder_that_is_just_full_keeps_all(cache: DiskCache) -> None:
    cache.put(KEY, b"seven")
    assert cache.folder is not None
    full = cache.usage().size_bytes + only_file(cache).stat().st_size  # of two entries alike
    DiskCache(cache.folder, limit_bytes=full).put(OTHER, b"eight")
    assert (cache.usage().size_bytes, cache.usage().entries) == (full, 2)


def test_what_a_process_that_died_was_writing_is_deleted_later(cache: DiskCache) -> None:
    cache.put(KEY, b"seven")
    assert cache.folder is not None
    path = only_file(cache)
    old, new = (path.with_suffix(f".{name}.tmp") for name in ("old", "new"))
    for each in (old, new):
        each.write_bytes(b"half")
    age(old, 2)
    DiskCache(cache.folder).put(OTHER, b"eight")
    assert (old.exists(), new.exists(), cache.usage().entries) == (False, True, 2)


def test_clearing_deletes_only_its_own(cache: DiskCache) -> None:
    cache.put(KEY, b"seven")
    cache.put_file(OTHER, lambda path: path.write_bytes(bytes(1000)))
    assert cache.folder is not None
    (cache.folder / "diary.entry").write_text("dear")
    held = cache.usage()
    assert cache.clear() == held
    assert (held.entries, held.size_bytes > 1000, cache.usage()) == (2, True, Usage(0, 0))
    assert [path.name for path in cache.folder.iterdir()] == ["diary.entry"]


def test_writers_at_once_never_show_half_a_value(cache: DiskCache) -> None:
    values = [bytes([number]) * 50_000 for number in range(4)]
    caches = [DiskCache(cache.folder) for _ in values]

    def write(own: DiskCache, value: bytes) -> None:
        for _ in range(50):
            own.put(KEY, value)
            own.put_file(OTHER, lambda path: path.write_bytes(value))

    writers = [
        threading.Thread(target=write, args=pair) for pair in zip(caches, values, strict=True)
    ]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(cache.get(KEY))
    assert seen <= {None, *values}
    assert cache.get(KEY) in values


@pytest.mark.parametrize(
    ("reglue", "xdg", "folder"),
    [
        ("/a/b", "/c", Path("/a/b")),
        ("", "/c", None),
        ("b", "/c", Path.cwd() / "b"),
        (None, "c", Path("/home/me/.cache/reglue")),
        (None, "/c", Path("/c/reglue")),
        (None, None, Path("/home/me/.cache/reglue")),
        (None, "", Path("/home/me/.cache/reglue")),
    ],
)
def test_the_folder_is_chosen_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, reglue: str | None, xdg: str | None, folder: Path | None
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in (("REGLUE_CACHE_DIR", reglue), ("XDG_CACHE_HOME", xdg)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache_folder() == folder

"""The common part of all tests of the glue."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reglue import connect
from tests.glue_server.drifters import DRIFTER
from tests.glue_server.hubs import Start
from tests.leftovers import nothing_left


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    with nothing_left():
        yield


@pytest.fixture
def start() -> Iterator[Start]:
    """Connects a peer from a thread."""
    with nothing_left():
        threads = ThreadPoolExecutor(8, thread_name_prefix="peer")
        yield lambda *arguments, **more: threads.submit(connect, *arguments, **more)
        threads.shutdown()


@pytest.fixture
def drifter(tmp_path: Path) -> str:
    (tmp_path / "drifter.py").write_text(DRIFTER, encoding="utf-8")
    return f"{tmp_path}/drifter.py"

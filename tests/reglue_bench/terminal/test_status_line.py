"""One line of progress where a person looks: a terminal, a notebook; nothing elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reglue_bench.terminal.status_line import StatusLine
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import corridor_plan, play

SLOW = """
import time
import reglue

def slow(observations):
    time.sleep(0.05)
    return (observations[:, 2] > 0).astype(int)

result = reglue.evaluate("evaluate:cart-pole", slow, num_episodes=10, slots=10{more})
"""


def test_a_run_that_takes_long_shows_how_far_it_is_and_then_nothing(tmp_path: Path) -> None:
    shown: list[str] = []
    watcher = StatusLine(shown.append, every_s=0.001)
    play(tmp_path, corridor_plan(num_episodes=6), Seeded(), watcher=watcher)
    assert all(" episodes, " in line for line in shown[:-1])
    assert len(shown) > 1
    assert shown[-1] == ""


def test_a_short_run_shows_nothing(tmp_path: Path) -> None:
    shown: list[str] = []
    watcher = StatusLine(shown.append, every_s=60.0)
    play(tmp_path, corridor_plan(), Seeded(), watcher=watcher)
    assert shown == []


@pytest.mark.parametrize(("more", "is_shown"), [("", True), (", progress=False", False)])
def test_a_terminal_shows_it(more: str, *, is_shown: bool) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SLOW.format(more=more)], stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # its end, on Linux
            while some := os.read(ours, 4096):
                printed += some
        assert process.wait(60) == 0
    os.close(ours)
    assert (b"of 10 episodes" in printed) is is_shown
    assert printed.endswith(b"\r\x1b[2K") is is_shown


def test_a_pipe_shows_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(more="")], capture_output=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_notebook_shows_it_and_then_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(f"{SLOW.format(more='')}\nresult")]
    seen: list[str] = []

    class Sees(NotebookClient):  # type: ignore[misc] # mypy does not read it
        def process_message(self, msg: Any, *of: Any, **more: Any) -> Any:
            data = msg["content"].get("data", {})
            if msg["msg_type"] in {"display_data", "update_display_data"}:
                seen.append(data["text/plain"])
            return super().process_message(msg, *of, **more)

    for folder in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(folder, str(tmp_path / folder))
    where = {"metadata": {"path": tmp_path}}
    Sees(notebook, timeout=120, kernel_name="python3", resources=where).execute()
    assert any("of 10 episodes" in text for text in seen[:-1])
    assert seen[-1] == ""
    [*_, last] = notebook.cells[0].outputs
    assert "mean return" in last.data["text/html"]

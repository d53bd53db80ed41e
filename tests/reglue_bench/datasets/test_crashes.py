"""kill -9 at any line of what records: the run resumes to the dataset of an unbroken one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from glue_server.episodes import observed as packing
from reglue_bench.datasets import folder, recorded_dataset, run_source
from reglue_bench.evaluation import carry_out, start
from reglue_bench.runs import recorder
from reglue_bench.runs.ledger import Ledger, writer
from reglue_bench.runs.observed import observed_reader, observed_storage, observed_writer
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.datasets.recordings import arrays, dataset_of, organiser
from tests.reglue_bench.toys import corridor_plan

pytestmark = pytest.mark.slow

_FILES = {
    each.__file__
    for each in (
        packing,
        observed_reader,
        observed_storage,
        observed_writer,
        recorder,
        writer,
        folder,
        recorded_dataset,
        run_source,
    )
}
_POINTS = 12  # lines at which a process is killed, evenly spaced over all that it runs


def test_a_run_that_is_killed_at_any_line_resumes_to_the_same_dataset(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"killed {_POINTS} of {_POINTS}"


def _request() -> Request:
    plan = corridor_plan(num_episodes=6, slots=2)
    return Request(Settings(benchmark="corridor", workers=0, record=True), plan, agent=Seeded())


class _Lines:
    """Counts the lines of the recording's files that all threads run; kills at number `last`."""

    def __init__(self, last: int = 0) -> None:
        self.count = 0
        self._last = last
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in _FILES:
            return None
        if event == "line":
            with self._lock:
                self.count += 1
                if self.count == self._last:
                    os.kill(os.getpid(), signal.SIGKILL)
        return self


def _traced(lines: _Lines, play: Callable[[], object]) -> None:
    threading.settrace(lines)
    sys.settrace(lines)
    try:
        play()
    finally:
        sys.settrace(None)
        threading.settrace(None)


def _resumed(folder: Path) -> None:
    if not (folder / "ledger.sqlite").exists():
        start(folder, _request(), NullObserver())
        return
    with Ledger(folder) as ledger:
        carry_out(folder, ledger, _request(), NullObserver())


def _in_a_child(play: Callable[[], object]) -> int:
    """The signal that ended it; 0: none did."""
    child = os.fork()
    if not child:
        try:
            play()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a child's last words
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def without_tries(run: Path) -> list[dict[str, Any]]:
    """The organiser's fields but for how often an episode was begun."""
    return [each | {"try": 0} for each in organiser(dataset_of(run))]


def _main(tmp_path: Path) -> None:
    """In a process without threads, which may fork."""
    whole, lines = tmp_path / "whole", _Lines()
    _traced(lines, partial(start, whole, _request(), NullObserver()))
    killed = 0
    for point in range(_POINTS):
        run = tmp_path / f"run{point}"
        last = _Lines(1 + lines.count * point // _POINTS)
        play = partial(start, run, _request(), NullObserver())
        killed += _in_a_child(partial(_traced, last, play)) == signal.SIGKILL
        _in_a_child(partial(_resumed, run))
        assert arrays(dataset_of(run)) == arrays(dataset_of(whole)), point
        assert without_tries(run) == without_tries(whole), point
    print(f"killed {killed} of {_POINTS}")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
